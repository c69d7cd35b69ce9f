"""From a model to one graph of terms, and what is known of its constants."""
