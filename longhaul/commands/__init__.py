"""One module for each command: ``HELP``, ``TAKES_REST``, ``add_arguments`` and ``run``."""
