"""The commands, one module each: ``HELP``, ``TAKES_REST``, ``add_arguments`` and ``run``."""
