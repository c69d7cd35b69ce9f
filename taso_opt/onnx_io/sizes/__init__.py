"""The types of all values of a model, and the sizes in them: given, inferred, or computed by the model itself."""
