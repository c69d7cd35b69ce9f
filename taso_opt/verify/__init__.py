"""Proves rules from axioms, refutes them by evaluation, prunes what is derivable and re-checks libraries."""
