"""Steps that pay only together, found on purpose: each file leads to one kind of sequence."""
