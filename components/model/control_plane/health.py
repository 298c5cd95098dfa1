"""Path of the API servers' health check."""

from __future__ import annotations

READY_PATH = "/readyz?exclude=etcd-override-0&exclude=etcd-override-readiness-0"
"""Path on which an API server reports whether it can serve. It leaves out the checks of the events etcd cluster
(override 0, the only one), because the loss of that cluster must not take API servers out of service (kubernetes 1.36,
apiserver/pkg/server/options/etcd.go)."""
