"""Rates at which nodes join: the join endpoint verifies proofs, then the node controller admits nodes."""

from __future__ import annotations

JOINS_A_SECOND, JOINS_AT_ONCE = 10.0, 10.0
"""New nodes that the node controller admits per second and at once. Three hundred new nodes take half a minute. A new
node's kubelet and kube-proxy list and watch many objects immediately, and "adding hundreds of nodes at once can
overload API servers, smoothing this out over even just a few seconds has helped avoid outages" (OpenAI, "Scaling
Kubernetes to 7,500 nodes"). Requests of nodes that have joined already are not limited."""

PROOFS_A_SECOND, PROOFS_AT_ONCE = 2 * JOINS_A_SECOND, 4 * JOINS_AT_ONCE
"""Proofs that one join endpoint verifies per second and at once. STS takes 600 requests per second
(docs.aws.amazon.com, "IAM and AWS STS quotas")."""
