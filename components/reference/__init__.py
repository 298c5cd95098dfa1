"""Generators of what follows from the model: the reference page, JSON Schemas, and the marked parts of other pages."""
