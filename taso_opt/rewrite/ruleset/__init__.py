"""All forms of a rule library, and which of them can match at a term, before any is matched."""
