"""Programs that run beside the API servers, on their machines: a folder each, with a user and a unit each.

They share one tree (``longhaul/toolchain/services.py``) of themselves, ``contract``, ``clouds``, ``components.model``
and the locked packages that these need. They import nothing else of the project.
"""
