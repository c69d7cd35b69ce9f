"""Model files: opened and checked, their weights left where they lie until asked for, and written in one step."""
