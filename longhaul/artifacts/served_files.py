"""Files of a depot on a server, each accepted only with the builder's signature.

The signature covers the depot's ``SHA256SUMS``, which covers every other file. So a server, or somebody between it and
us, can withhold a file or serve an older depot of the same builder, but cannot change a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from longhaul.artifacts.manifest import SUMS
from longhaul.artifacts.signature import SUFFIX, SignatureError, check

Fetch = Callable[[str], bytes]
"""Returns the content at a URL, or raises an error of its own."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def read(address: str, name: str, *, key: str, fetch: Fetch) -> bytes:
    """Return the file ``name`` of the depot at ``address``. Raise :class:`SignatureError` unless one of the keys in
    ``key`` has signed a list with the checksum of the file's content."""
    wanted = _sums(address, key=key, fetch=fetch).get(name)
    if wanted is None:
        raise SignatureError(f"{address}: the signed {SUMS} does not have {name}")
    content = fetch(f"{address}/{name}")
    if hashlib.sha256(content).hexdigest() != wanted:
        raise SignatureError(
            f"{address}/{name} is not the file that the signed {SUMS} lists. If the depot was filled again just now, "
            "run this again; if not, somebody has changed the file"
        )
    return content


def _sums(address: str, *, key: str, fetch: Fetch) -> dict[str, str]:
    content, signature = fetch(f"{address}/{SUMS}"), fetch(f"{address}/{SUMS}{SUFFIX}")
    try:
        check(content, signature, key)
    except SignatureError as error:
        raise SignatureError(
            f"{address}/{SUMS} {error}. If the depot was filled again just now, run this again; docs/depot.md says "
            "how a depot is signed"
        ) from error
    return checksums(content)


def checksums(content: bytes) -> dict[str, str]:
    """Return the checksums in a list by path. Raise :class:`SignatureError` for any other document: the key may also
    have signed other documents."""
    by_path = {}
    for line in content.decode("utf-8", errors="replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise SignatureError(f"the signed file is not a list of checksums: {line[:80]!r}")
        by_path[match[2]] = match[1]
    return by_path
