"""A cluster's API for a program of a machine, whose certificate and authorities are files that are renewed in place."""

from __future__ import annotations

import ssl
import threading
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from contract.kubernetes.api import Api
from contract.kubernetes.connection import TIMEOUT_S, ApiClient, ApiError, ClusterAccess


class MachineApi(Api):
    """The API at ``url``. The files are read before a request if they have changed; a connection keeps what it was
    opened with, and is not used afterwards."""

    def __init__(
        self, url: str, *, authority: Path, certificate: Path, agent: str = "longhaul", timeout_s: float = TIMEOUT_S
    ) -> None:
        """``authority``: file with the authorities of API servers; ``certificate``: file with this client's certificate
        and key; ``agent``: user agent of the requests."""
        self.url, self.authority, self.certificate = url, authority, certificate
        self._version: tuple[int, ...] = ()
        self._renewing = threading.Lock()
        parts = urlsplit(url)
        access = ClusterAccess(
            host=parts.hostname or "",
            port=parts.port or 443,
            context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            server_name=parts.hostname or "",
            headers={"User-Agent": agent},
            timeout_s=timeout_s,
        )
        ApiClient.__init__(self, access)

    def prepare(self) -> None:
        """Read the files again if they have changed; ``ApiError`` when they cannot be used."""
        with self._renewing:
            try:
                version = tuple(
                    number
                    for stat in (self.authority.stat(), self.certificate.stat())
                    for number in (stat.st_mtime_ns, stat.st_ino, stat.st_size)
                )
                if version == self._version:
                    return
                context = ssl.create_default_context(cafile=str(self.authority))
                context.load_cert_chain(self.certificate)
            except OSError as error:
                message = f"{self.certificate} or {self.authority}: {error}"
                raise ApiError(message, reason="no identity") from None
            # Noted as it was before the files were read, so that a change meanwhile is noticed at the next request.
            self._version = version
            self.access = replace(self.access, context=context)
            self.reconnect()
