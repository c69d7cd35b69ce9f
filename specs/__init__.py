"""Operator specifications: one operator a file, holding its types, meaning, axioms and ONNX spelling."""
