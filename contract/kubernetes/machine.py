"""Client of a cluster's API for a program on a machine. The machine's certificate and authorities are files that are
renewed in place."""

from __future__ import annotations

import ssl
import threading
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from contract.kubernetes.api import Api
from contract.kubernetes.connection import TIMEOUT_S, ApiClient, ApiError, ClusterAccess


class MachineApi(Api):
    """The API at ``url``. Changed files are read before the next request, and connections that were opened with the
    former content are no longer used."""

    def __init__(
        self, url: str, *, authority: Path, certificate: Path, agent: str = "longhaul", timeout_s: float = TIMEOUT_S
    ) -> None:
        """``authority`` is the file with the API servers' authorities, ``certificate`` the file with this client's
        certificate and key, ``agent`` the user agent of the requests."""
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
        """Read the files again if they have changed. Raise ``ApiError`` if the files are invalid."""
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
            # The state from before the files were read, so that a change meanwhile is noticed at the next request.
            self._version = version
            self.access = replace(self.access, context=context)
            self.reconnect()
