"""Which kernels a graph runs as: its units, their keys, the layouts between them, and what they take, counted."""
