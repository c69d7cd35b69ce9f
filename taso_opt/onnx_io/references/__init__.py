"""Copies of models that tell what others should compute: in float64, and random numbers repeated."""
