"""tasoopt: rewrites ONNX models into faster equivalents with machine-discovered, proved rules."""

__version__ = "0.1.0"
