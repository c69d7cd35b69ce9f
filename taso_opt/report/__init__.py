"""What the user is told: one record of a run, written as JSON or as text."""
