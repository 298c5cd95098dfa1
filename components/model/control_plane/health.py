"""Path of the API servers' health check."""

from __future__ import annotations

READY_PATH = "/readyz?exclude=etcd-override-0&exclude=etcd-override-readiness-0"
"""Path on which an API server reports whether it can serve. It leaves out the checks of the events etcd cluster (the
one override, hence 0), because its loss must not take API servers out of service (kubernetes 1.36,
apiserver/pkg/server/options/etcd.go)."""
