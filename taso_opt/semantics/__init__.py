"""Interpretations of the meanings that specs/ declares, and small instances of rules to evaluate them on."""
