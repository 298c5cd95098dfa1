"""Access to the clouds for a program on a control plane's machine, with an identity that was made for it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contract.documents.cloud_token import NoTokenError, of_text

SOCKET_S = 30.0
"""Time limit for a token from the socket, seconds. For each token, a program starts and asks the metadata service
twice."""


@dataclass(frozen=True, kw_only=True)
class OwnAccess:
    """Data with which a program signs in."""

    machine: str
    role: str
    """Role to assume in a cloud other than the machine's; may be empty."""
    regions: tuple[str, ...]
    """Regions of the cloud's sites."""
    folder: Path
    """Folder that only the program can read."""
    token: Callable[[], tuple[str, float]]
    """Returns a token of the program's identity and the end of its validity, in seconds since the epoch; raises
    :class:`NoTokenError` when there is none."""
    stop: threading.Event
    """Set when the access is no longer needed."""


def socket_token(path: str) -> tuple[str, float]:
    """Return a token and the end of its validity, in seconds since the epoch, from a program on the same machine. The
    program serves one token for each connection to the socket at ``path``. Raise :class:`NoTokenError` with the
    program's message when the program serves none."""
    try:
        return of_text(_read(path))
    except (NoTokenError, OSError) as error:
        raise NoTokenError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError):
        raise NoTokenError(f"{path}: it gives no token; its journal says why") from None


def _read(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SOCKET_S)
        connection.connect(path)
        with connection.makefile(encoding="utf-8") as stream:
            return stream.read()
