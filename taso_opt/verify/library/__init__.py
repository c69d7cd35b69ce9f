"""From many equations to a library: verified, pruned, written with their proofs, and checked again."""
