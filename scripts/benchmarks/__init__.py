"""Parts of the benchmarks: the models, the other tools, the pages that figures are written to."""
