"""What a report tells of an optimization, gathered from the search and the measurements."""
