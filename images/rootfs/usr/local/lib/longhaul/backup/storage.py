"""Blob storage, accessed with this machine's own identity (learn.microsoft.com, "Blob service REST API")."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from xml.etree import ElementTree

from contract.azure import BLOBS_VERSION
from contract.documents.backups import SKEW, StoredBackup, prefix_of

TIMEOUT_S = 30.0
"""Longest silence of the storage, seconds."""

LARGEST = 5000 * 2**20
"""Largest blob, in bytes, that one request can write (learn.microsoft.com, "Put Blob")."""

CHUNK = 2**20


class StorageError(Exception):
    """Raised if the storage does not answer or refuses, or if its clock differs. The message never contains a token."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """The storage account of the environment's backups."""

    url: str
    token: Callable[[], str]

    def backups(self, kept: str, role: str) -> Iterator[StoredBackup]:
        """Yield the blobs of one class of an etcd cluster's backups, in the order of their names, which begin with the
        time."""
        marker = ""
        while True:
            query = {"restype": "container", "comp": "list", "include": "metadata", "prefix": prefix_of(role)}
            more = {"marker": marker} if marker else {}
            with self._ask("GET", f"{kept}?{urllib.parse.urlencode({**query, **more})}") as answer:
                try:
                    listed = ElementTree.fromstring(answer.read())  # noqa: S314  (the account's own answer)
                except ElementTree.ParseError:
                    raise StorageError(f"the list of {kept} is not XML") from None
            yield from (_stored(kept, blob) for blob in listed.iterfind("Blobs/Blob"))
            marker = listed.findtext("NextMarker") or ""
            if not marker:
                return

    def put(self, kept: str, name: str, file: Path, metadata: Mapping[str, str]) -> None:
        """Write a new blob. The storage refuses the blob if its content does not arrive completely, or if a blob of
        this name exists."""
        size = file.stat().st_size
        if size > LARGEST:
            raise StorageError(f"{name} has {size} bytes, and one request writes at most {LARGEST}")
        headers = {
            "Content-Length": str(size),
            "Content-MD5": base64.b64encode(bytes.fromhex(digest(file, "md5"))).decode(),
            "Content-Type": "application/octet-stream",
            "If-None-Match": "*",
            "x-ms-blob-type": "BlockBlob",
            **{f"x-ms-meta-{key}": value for key, value in metadata.items()},
        }
        with file.open("rb") as content, self._ask("PUT", f"{kept}/{name}", headers=headers, content=content):
            pass

    def sha256(self, kept: str, name: str) -> str:
        """Read a blob, and return the SHA-256 of the received bytes, hexadecimal."""
        return self.fetch(kept, name, Path(os.devnull))

    def fetch(self, kept: str, name: str, to: Path) -> str:
        """Write a blob's content to a file, and return the SHA-256 of the received bytes, hexadecimal."""
        hasher = hashlib.sha256()
        with self._ask("GET", f"{kept}/{name}") as answer, to.open("wb") as file:
            try:
                while chunk := answer.read(CHUNK):
                    hasher.update(chunk)
                    file.write(chunk)
            except (OSError, http.client.HTTPException) as error:
                why = getattr(error, "strerror", None) or type(error).__name__
                raise StorageError(f"{kept}/{name} does not come whole: {why}") from None
        return hasher.hexdigest()

    def _ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, content: object = None
    ) -> http.client.HTTPResponse:
        what = f"{method} {path.partition('?')[0]}"
        sent = {"Authorization": f"Bearer {self.token()}", "x-ms-version": BLOBS_VERSION, **(headers or {})}
        request = urllib.request.Request(  # noqa: S310  (the address is of the vault's secret)
            f"{self.url}/{path}",
            data=content,  # type: ignore[arg-type]
            method=method,
            headers=sent,
        )
        # No proxy: it would see the token.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            answer: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            code = error.headers.get("x-ms-error-code") or error.reason
            raise StorageError(f"{what}: the answer was {error.code} {code}") from None
        except (OSError, http.client.HTTPException) as error:
            raise StorageError(f"{what}: {type(error).__name__}: {error}") from None
        _agree(answer.headers.get("Date"))
        return answer


def _agree(date: str | None) -> None:
    """Raise ``StorageError`` if this machine's clock differs from the storage's clock, which is the ``Date`` of an
    answer."""
    apart = abs(parsedate_to_datetime(date) - datetime.now(tz=UTC)) if date else timedelta()
    if apart > SKEW:
        message = (
            f"this machine's clock and the storage's are {apart.total_seconds():.0f} s apart: see `chronyc tracking`"
        )
        raise StorageError(message)


def digest(file: Path, algorithm: str) -> str:
    """Return a digest of a file, hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, algorithm).hexdigest()


def _stored(kept: str, blob: ElementTree.Element) -> StoredBackup:
    return StoredBackup(
        kept=kept,
        name=blob.findtext("Name") or "",
        size=int(blob.findtext("Properties/Content-Length") or 0),
        made=parsedate_to_datetime(blob.findtext("Properties/Last-Modified") or ""),
        metadata={element.tag.lower(): element.text or "" for element in blob.iterfind("Metadata/*")},
    )
