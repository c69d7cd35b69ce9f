"""Runs pieces of a generation: in this process, in several, or on several machines, and after an interruption."""
