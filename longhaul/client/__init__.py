"""Sign-in for people who do not run the infrastructure. It needs only Python's standard library, neither a checkout nor
a cloud's SDK, so that it starts at once and can be installed alone (``client/pyproject.toml``)."""
