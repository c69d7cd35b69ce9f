"""Measures units of graphs as small models, beside a canary and at a distance from what they read."""
