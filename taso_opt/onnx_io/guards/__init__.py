"""Tells models on which ONNX's own code would hang or run out of memory, before it sees them."""
