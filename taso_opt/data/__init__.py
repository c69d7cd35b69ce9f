"""What the tool ships besides code: the operator specifications and the verified rule library."""
