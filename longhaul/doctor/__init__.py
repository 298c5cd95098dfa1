"""Checks before anything is made: whether everything that an environment needs exists, and whether we may use it. The
checks never write.

Each check is a function that yields findings. :mod:`longhaul.doctor.checks` lists them; each cloud's own doctor
(``clouds/X/doctor.py``) lists the checks of its cloud.
"""
