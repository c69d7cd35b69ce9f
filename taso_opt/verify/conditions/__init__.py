"""Under which conditions equations hold: those that make them true, and the weakest that a proof bears."""
