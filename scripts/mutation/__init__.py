"""Mutants of laws, meanings and conditions, and the cases in which the runtime tells a wrong one."""
