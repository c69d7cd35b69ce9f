"""Chooses which rewrites to make: regions, backtracking search and the final comparison."""
