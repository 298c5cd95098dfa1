"""Sign-in for people who do not run the infrastructure. It needs Python's standard library and nothing else, neither a
checkout nor a cloud's SDK, so that it starts at once and can be installed alone (``client/pyproject.toml``)."""
