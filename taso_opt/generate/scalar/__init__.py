"""Discovers equations between functions of numbers: on all reals, within bounds, and around a bend."""
