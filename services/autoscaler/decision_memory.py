"""Storage of the memory: a ConfigMap in the cluster, written before a cloud is asked, so that a crash loses nothing."""

from __future__ import annotations

from contract.documents.autoscaler_memory import DecisionMemory, of_text, to_text
from contract.kubernetes.api import Api
from contract.kubernetes.connection import Object
from contract.object_names import AUTOSCALER, MEMORY_KEY, SYSTEM_CONFIGMAPS, SYSTEM_NAMESPACE

MEMORY = f"{SYSTEM_CONFIGMAPS}/{AUTOSCALER}"
"""Object with the memory of the last decision, in its key :data:`MEMORY_KEY`."""


class DecisionMemoryStore:
    """Storage of the memory for one process. A write after somebody else's write fails with a conflict."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._item: Object | None = None

    def read(self) -> DecisionMemory:
        """Return the memory. Invalid content is ignored: waiting times begin again, and nothing else is lost."""
        self._item = self._api.find(MEMORY)
        try:
            return of_text(self._item["data"][MEMORY_KEY]) if self._item else DecisionMemory()
        except (AttributeError, KeyError, TypeError, ValueError):
            return DecisionMemory()

    def write(self, memory: DecisionMemory) -> None:
        """Write the memory, unless it is unchanged. Raise ``ApiError`` with status 409 when somebody else has written
        since the memory was read."""
        data = {MEMORY_KEY: to_text(memory)}
        if self._item is None:
            metadata = {"name": AUTOSCALER, "namespace": SYSTEM_NAMESPACE}
            self._item = self._api.post(
                SYSTEM_CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )
        elif self._item.get("data") != data:
            self._item = self._api.put(MEMORY, {**self._item, "data": data})
