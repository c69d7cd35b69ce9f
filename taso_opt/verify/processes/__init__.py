"""Proving in child processes with a limit on time and memory: one of them, or several."""
