"""Applies proved rules to graphs: patterns, matching, n-ary steps and substitution."""
