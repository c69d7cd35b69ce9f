"""What specifications of several operators share: types, meanings, laws and the ways in which ONNX spells them."""
