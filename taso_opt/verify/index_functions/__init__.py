"""Proofs for all sizes: the meaning of operators as index functions, sums of products of elements of the variables."""
