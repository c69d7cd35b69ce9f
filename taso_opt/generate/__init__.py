"""Discovers candidate rules: enumerates terms and pairs those with equal fingerprints."""
