"""The finals of a search: what its plans must achieve, how they are held, and what is made of the outcome."""
