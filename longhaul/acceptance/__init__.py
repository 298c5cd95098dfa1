"""Acceptance: a small environment is made, looked at from end to end, taken down, and reported on. What the lab's own
tests look at as well is here, once."""

MOST_TIME = "3h"
"""How long a whole run may take unless told otherwise: a VPN gateway takes Azure half an hour or more to make
(docs/getting-started.md, 7), and the taking down has its third."""
MOST_MACHINES = 24
"""Machines that an environment may have, unless told otherwise."""
