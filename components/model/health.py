"""How health is asked for, by everybody who asks."""

from __future__ import annotations

READY_PATH = "/readyz?exclude=etcd-override-0&exclude=etcd-override-readiness-0"
"""Where an API server says whether it can serve. Without the checks of the events store (the one override, hence 0):
its loss must not take API servers out of service (kubernetes 1.36, apiserver/pkg/server/options/etcd.go)."""
