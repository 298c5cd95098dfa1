"""Keeps the hypervisor on the cloud's desired state."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from lab.cloud.store import DocumentStore
from lab.desired import Hypervisor, World

log = logging.getLogger(__name__)

RETRY_S = 2.0
"""Seconds before a failed application of the world is retried, unless the world changes earlier."""


class Follower:
    """Applies the world after every change, and lets others wait until a change has been applied."""

    def __init__(self, store: DocumentStore, hypervisor: Hypervisor, build: Callable[[DocumentStore], World]) -> None:
        self._store = store
        self._hypervisor = hypervisor
        self._build = build
        self._applied = 0
        self._progress = asyncio.Condition()

    async def applied(self, revision: int) -> None:
        """Return once the hypervisor has handled a world of at least this revision."""
        async with self._progress:
            await self._progress.wait_for(lambda: self._applied >= revision)

    async def run(self) -> None:
        """Follow the store until cancelled."""
        while True:
            revision = self._store.revision
            try:
                await self._hypervisor.apply(self._build(self._store))
            except Exception:
                log.exception(
                    "the hypervisor could not follow; trying again in %s s or when something changes", RETRY_S
                )
                await self._changed_or_later(revision)
                continue
            async with self._progress:
                self._applied = revision
                self._progress.notify_all()
            await self._store.wait_changed(revision)

    async def _changed_or_later(self, revision: int) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._store.wait_changed(revision), RETRY_S)
