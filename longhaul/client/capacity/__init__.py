"""``longhaul capacity``: teams' guarantees, their use, waiting jobs, and the nodes that pools have and want.

It needs only the standard library, for people who run no infrastructure; the operators' command shows the same with a
certificate.
"""
