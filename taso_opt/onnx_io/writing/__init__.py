"""From a rewritten graph to a patch on the original model, and the check that all of the rest survived."""
