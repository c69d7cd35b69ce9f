"""What is done to a model before it is searched: clean-ups, loops, bodies, other spellings, each checked by running."""
