"""Time limits of ``longhaul status``, seconds: a machine that does not answer by then is reported as silent."""

from __future__ import annotations

from longhaul.racks.inventory import ANSWER_S

CONTROL_MACHINE_S = 60.0
"""For a machine of the control plane, by its cloud's run command: Azure's agent alone takes about ten."""
RACK_MACHINE_S = ANSWER_S + 2.0
"""For a gateway or a host, by SSH: connection and script together."""
BALANCER_S = 5.0
"""For the load balancer, as any client asks it."""
API_S = 10.0
"""For each request to the cluster's API."""
