"""``longhaul capacity``: who is guaranteed what, who uses it, what waits, and what pools have and are asked for.

The standard library alone, for people who run nothing; operators' command shows the same by a certificate.
"""
