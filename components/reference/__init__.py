"""Generators of files that follow from the model: the reference page, JSON Schemas, and the marked parts of other
pages."""
