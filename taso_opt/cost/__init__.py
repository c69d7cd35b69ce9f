"""What a graph costs on this machine: measured units, kept in one table."""
