"""Types, terms, graphs and rules: the words that all stages share."""
