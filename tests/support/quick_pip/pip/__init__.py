"""See :mod:`tests.support.engine`."""
