"""What evaluation says of an equation: counterexamples, witnesses, and how far floats may differ."""
