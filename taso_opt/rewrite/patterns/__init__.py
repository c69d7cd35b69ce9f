"""What rules look like to the matcher, where they fit a term, and what they put in its place."""
