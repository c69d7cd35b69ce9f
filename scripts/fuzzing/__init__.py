"""Random models and mutated files, which the fuzzing scripts try the tool on."""
