"""The last word on what a search found: whether it computes the same, and whether it is faster."""
