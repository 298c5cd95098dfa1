"""Programs that run on the API servers' machines. Each program has a folder, a user and a unit.

The programs share one tree (``longhaul/toolchain/services.py``) with ``services``, ``contract``, ``clouds``,
``components.model`` and the locked packages that these need. They import nothing else of the project.
"""
