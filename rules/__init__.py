"""The verified rule library: one rule a line, sorted."""
