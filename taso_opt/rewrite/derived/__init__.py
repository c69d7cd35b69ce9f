"""Rules made of rules: about parts of splits, about whole weights, about an operand for each part."""
