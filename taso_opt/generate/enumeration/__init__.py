"""Enumerates small terms by fingerprint, and reads off which equal which (paper, section 2.4)."""
