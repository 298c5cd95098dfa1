"""Blobs of a storage account, listed with the caller's own credentials (learn.microsoft.com, "List Blobs")."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

from clouds.azure.errors import AzureError
from clouds.azure.session import AzureSession
from contract.azure import BLOBS_VERSION, STORAGE
from contract.documents.backups import StoredBackup


def listed(account: str, container: str, prefix: str) -> Iterator[StoredBackup]:
    """Yield the blobs of a container below a prefix, by name, with their metadata. Raise ``AzureError``."""
    session, marker = AzureSession(STORAGE, headers={"x-ms-version": BLOBS_VERSION}), ""
    while True:
        query = {"restype": "container", "comp": "list", "include": "metadata", "prefix": prefix}
        more = {"marker": marker} if marker else {}
        url = f"https://{account}.blob.core.windows.net/{container}?{urlencode({**query, **more})}"
        answer = session.request("GET", url)
        try:
            page = ElementTree.fromstring(answer.content)  # noqa: S314  (the account's own answer)
        except ElementTree.ParseError:
            raise AzureError(f"{account}/{container}: the answer is not XML") from None
        yield from (_view(container, blob) for blob in page.iterfind("Blobs/Blob"))
        marker = page.findtext("NextMarker") or ""
        if not marker:
            return


def fetched(account: str, container: str, name: str, to: Path) -> None:
    """Write a blob's content to a file. Raise ``AzureError``."""
    AzureSession(STORAGE, headers={"x-ms-version": BLOBS_VERSION}).fetch(_url(account, container, name), to)


def head(account: str, container: str, name: str, length: int) -> bytes:
    """Return the first bytes of a blob, ``length`` at most (learn.microsoft.com, "Specify the range header for Blob
    service operations"). Raise ``AzureError``."""
    headers = {"x-ms-version": BLOBS_VERSION, "x-ms-range": f"bytes=0-{length - 1}"}
    answer = AzureSession(STORAGE, headers=headers).request("GET", _url(account, container, name))
    return bytes(answer.content)


def _url(account: str, container: str, name: str) -> str:
    return f"https://{account}.blob.core.windows.net/{container}/{quote(name)}"


def _view(container: str, blob: ElementTree.Element) -> StoredBackup:
    return StoredBackup(
        kept=container,
        name=blob.findtext("Name") or "",
        size=int(blob.findtext("Properties/Content-Length") or 0),
        made=parsedate_to_datetime(blob.findtext("Properties/Last-Modified") or ""),
        metadata={element.tag.lower(): element.text or "" for element in blob.iterfind("Metadata/*")},
    )
