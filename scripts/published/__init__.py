"""The rules that TASO published: their notation, the statements made of them, their count by enumeration."""
