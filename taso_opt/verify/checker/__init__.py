"""A small program that follows the proofs of a rule library with the standard library alone."""
