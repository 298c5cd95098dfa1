"""Changes of Nodes that follow from their watched state."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Protocol

from contract.kubernetes.connection import ApiError, Object

log = logging.getLogger(__name__)

CONFLICT = 409


class WatchedNodes(Protocol):
    """Nodes in the memory of a watch."""

    def by_name(self) -> dict[str, Object]:
        """Return every Node by name."""


class NodeWork(ABC):
    """Work on Nodes. It decides in memory which Nodes need a change, and sends only these changes to the API."""

    def __init__(self, nodes: WatchedNodes) -> None:
        self.nodes = nodes
        self._done: dict[str, str] = {}
        """Version of each Node that this work, or another writer meanwhile, has changed. Such a Node is skipped until
        the watch has a newer version."""

    @abstractmethod
    def due(self, node: Object) -> bool:
        """Return whether a Node is to be changed."""

    @abstractmethod
    def change(self, node: Object) -> None:
        """Change a Node, provided that it still has the version that was read. Raise ``ApiError`` if that fails."""

    def look(self) -> bool:
        """Make the necessary changes. Return whether a change failed and must be tried again."""
        nodes, left = self.nodes.by_name(), False
        self._done = {name: version for name, version in self._done.items() if name in nodes}
        for name, node in nodes.items():
            try:
                left |= self._work_on(name, node)
            except Exception:
                # Nodes write about themselves: a fault in one must not stop the work on all others.
                log.exception("taint of %s: its Node cannot be worked on", name)
        return left

    def _work_on(self, name: str, node: Object) -> bool:
        """Change a Node if necessary. Return whether the change failed and must be tried again."""
        version = node["metadata"]["resourceVersion"]
        if not self.due(node) or self._done.get(name) == version:
            return False
        try:
            self.change(node)
        except ApiError as error:
            if error.status not in (404, CONFLICT):
                log.warning("taint of %s: %s", name, error)
                return True
        self._done[name] = version
        return False
