"""Proofs from the axioms of the specs: by Z3, and as chains of single rewrites that a reader can follow."""
