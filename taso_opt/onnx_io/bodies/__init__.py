"""Parts of models as models of their own, and the way back: bodies of control flow, loops, functions."""
