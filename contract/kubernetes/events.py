"""Events, which show people what the controller does."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from uuid import uuid4

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError, Object
from contract.objects import NODE_CONTROLLER_LEASE
from contract.token_buckets import Bucket

log = logging.getLogger(__name__)


MESSAGE = 1024
"""Longest message of an Event (k8s.io/kubernetes/pkg/apis/core/validation, ``NoteLengthLimit``)."""

RATE, BURST = 5.0, 100.0
"""Events per second, and at once. A client of the join endpoint can send wrong requests as often as it likes; these
must not flood the events etcd or its readers. The conditions on requests have the same content."""


class Events:
    """Writes Events. A failed write is logged, and stops nothing."""

    def __init__(self, api: Api, *, instance: str, component: str = NODE_CONTROLLER_LEASE) -> None:
        self._api, self._instance, self._component = api, instance, component
        self._bucket, self._lock = Bucket(rate=RATE, burst=BURST), threading.Lock()

    def say(self, about: Object, *, reason: str, message: str, warning: bool = False) -> None:
        """Write an Event about an object (``apiVersion``, ``kind``, ``metadata``)."""
        metadata = about["metadata"]
        log.info("%s: %s %s: %s", reason, about["kind"], metadata["name"], message)
        with self._lock:
            if self._bucket.wait_s() > 0:
                log.warning("too many events at once: this one is in the journal alone")
                return
            self._bucket.take()
        # Events about objects without a namespace go to `default`, where `kubectl get events` looks.
        namespace = metadata.get("namespace") or "default"
        try:
            self._api.post(
                f"/api/v1/namespaces/{namespace}/events",
                self._document(about, namespace, reason, message, warning=warning),
            )
        except ApiError as error:
            log.warning("event not written: %s", error)

    def _document(self, about: Object, namespace: str, reason: str, message: str, *, warning: bool) -> Object:
        metadata = about["metadata"]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        reference = {"apiVersion": about["apiVersion"], "kind": about["kind"], "name": metadata["name"]}
        reference |= {key: metadata[key] for key in ("namespace", "uid") if metadata.get(key)}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name'][:200]}.{uuid4().hex[:16]}", "namespace": namespace},
            "involvedObject": reference,
            "reason": reason,
            "message": message[:MESSAGE],
            "type": "Warning" if warning else "Normal",
            "source": {"component": self._component, "host": self._instance},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
