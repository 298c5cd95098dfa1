"""Events, which show people what a program did with an object."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from uuid import uuid4

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.paths import NAMESPACES
from contract.token_buckets import Bucket

log = logging.getLogger(__name__)


MESSAGE = 1024
"""Longest message of an Event (k8s.io/kubernetes/pkg/apis/core/validation, ``NoteLengthLimit``)."""

RATE, BURST = 5.0, 100.0
"""Largest number of Events per second, and at once. Clients of the join endpoint can send any number of wrong requests,
which must not flood the events etcd or people who read Events. The conditions on requests have the same content."""


class Events:
    """Writer of Events. A failed write is logged and otherwise ignored."""

    def __init__(self, api: Api, *, instance: str, component: str) -> None:
        """``component`` is the program that writes the Events, and ``instance`` is its machine."""
        self._api, self._instance, self._component = api, instance, component
        self._bucket, self._lock = Bucket(rate=RATE, burst=BURST), threading.Lock()

    def say(self, about: Object, *, reason: str, message: str, warning: bool = False) -> None:
        """Log a message about an object (``apiVersion``, ``kind``, ``metadata``), and write it as an Event unless there
        are too many at once."""
        metadata = about["metadata"]
        log.info("%s: %s %s: %s", reason, about["kind"], metadata["name"], message)
        with self._lock:
            if self._bucket.wait_s() > 0:
                log.warning("too many events at once: this one is in the journal alone")
                return
            self._bucket.take()
        event = event_of(
            about,
            reason=reason,
            message=message,
            component=self._component,
            instance=self._instance,
            now=datetime.now(UTC),
            warning=warning,
        )
        try:
            self._api.post(events_path(about), event)
        except ApiError as error:
            log.warning("event not written: %s", error)


def event_of(
    about: Object, *, reason: str, message: str, component: str, instance: str, now: datetime, warning: bool = False
) -> Object:
    """Return an Event about an object (``apiVersion``, ``kind``, ``metadata``) by a program on the machine
    ``instance``."""
    metadata, at = about["metadata"], now.strftime("%Y-%m-%dT%H:%M:%SZ")
    reference = {"apiVersion": about["apiVersion"], "kind": about["kind"], "name": metadata["name"]}
    reference |= {key: metadata[key] for key in ("namespace", "uid") if metadata.get(key)}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name'][:200]}.{uuid4().hex[:16]}", "namespace": _namespace(about)},
        "involvedObject": reference,
        "reason": reason,
        "message": message[:MESSAGE],
        "type": "Warning" if warning else "Normal",
        "source": {"component": component, "host": instance},
        "reportingComponent": component,
        "reportingInstance": instance,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def events_path(about: Object) -> str:
    """Return the path to which Events about an object are posted."""
    return f"{NAMESPACES}/{_namespace(about)}/events"


def _namespace(about: Object) -> str:
    """Return the namespace of Events about an object. For an object without a namespace, this is ``default``, where
    ``kubectl get events`` looks."""
    return str(about["metadata"].get("namespace") or "default")
