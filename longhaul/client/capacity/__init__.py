"""``longhaul capacity``: shows each team's guarantee and its use, the waiting jobs, and each pool's nodes.

People who run no infrastructure run the command with their token, and operators with a certificate. This package needs
only the standard library, so the client's wheel contains it.
"""
