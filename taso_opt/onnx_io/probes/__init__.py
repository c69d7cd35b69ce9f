"""Small models and copies of models that a runtime runs so that something is measured or shown."""
