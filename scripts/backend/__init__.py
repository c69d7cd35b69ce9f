"""The cases of ONNX's backend test suite, and what is done to each in a process of its own."""
