"""Candidates made by schemes: the forms that rules have which are too large to be enumerated."""
