"""Rates at which nodes join: the join endpoint verifies proofs, then the node controller admits nodes."""

from __future__ import annotations

JOINS_A_SECOND, JOINS_AT_ONCE = 10.0, 10.0
"""New nodes admitted per second and at once: three hundred take half a minute. Each one lists and watches what kubelet
and kube-proxy need at once, and "adding hundreds of nodes at once can overload API servers, smoothing this out over
even just a few seconds has helped avoid outages" (OpenAI, "Scaling Kubernetes to 7,500 nodes"). Nodes
that have joined already do not queue here: their requests come first."""

PROOFS_A_SECOND, PROOFS_AT_ONCE = 2 * JOINS_A_SECOND, 4 * JOINS_AT_ONCE
"""Proofs that one join endpoint verifies, per second and at once: twice the joins that the node controller admits. STS
takes 600 a second (docs.aws.amazon.com, "IAM and AWS STS quotas")."""
