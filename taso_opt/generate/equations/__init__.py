"""Equations as texts with types: their names, their most general sizes, their tests, and which follow from which."""
