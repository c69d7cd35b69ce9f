"""Steps of many terms at once: merges, joins, cuts, sums, and several results of one operator."""
