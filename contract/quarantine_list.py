"""Names of the machines in quarantine, for programs on an API server's machine that refuse such machines."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from contract.documents.quarantine import PATH, names_of

log = logging.getLogger(__name__)


class QuarantineList:
    """The names in the list's file. A changed file is read again. If the file cannot be read, the names stay as they
    were."""

    def __init__(self, path: Path = Path(PATH)) -> None:
        self._path, self._lock = path, threading.Lock()
        self._version: tuple[int, ...] = ()
        self._names: frozenset[str] = frozenset()

    def __call__(self) -> frozenset[str]:
        """Return the names of the machines' Nodes."""
        with self._lock:
            try:
                now = self._path.stat()
                version = (now.st_mtime_ns, now.st_ino, now.st_size)
                if version != self._version:
                    self._names, self._version = frozenset(names_of(self._path.read_text())), version
            except FileNotFoundError:
                # An image is newer than its machine's user data: there is no list yet.
                self._names, self._version = frozenset(), ()
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("%s: %s; keeping the previous list", self._path, error)
            return self._names
