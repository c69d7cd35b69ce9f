"""What the machine and its Python offer to this process: memory, processors, packages, temporary files."""
