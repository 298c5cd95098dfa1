"""Access of a program on a control plane's machine to the clouds, by an identity that was made for it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOCKET_S = 30.0
"""Time limit of a token's socket, in seconds: a program starts for the answer, and asks the metadata service twice."""


class NoTokenError(Exception):
    """Raised when the socket gives no token, with the reason."""


@dataclass(frozen=True, kw_only=True)
class OwnAccess:
    """Data for signing in."""

    machine: str
    role: str
    """Role to take in a cloud that is another one than the machine's; may be empty."""
    regions: tuple[str, ...]
    """Regions of the cloud's sites."""
    folder: Path
    """Folder that only the program reads."""
    token: Callable[[], tuple[str, float]]
    """Returns a token of the program's identity and the end of its validity, in seconds since the epoch;
    :class:`NoTokenError` when there is none."""
    stop: threading.Event
    """Set when the access is no longer needed."""


def socket_token(path: str) -> tuple[str, float]:
    """Return the token that a program of the same machine gives by a socket, one a connection (images/rootfs,
    cloud_token.py), and the end of its validity in seconds since the epoch. Raise :class:`NoTokenError` when it gives
    none, with the program's own words."""
    try:
        given = json.loads(_read(path))
        if "error" in given:
            raise NoTokenError(f"{path}: {given['error']}")
        return str(given["token"]), float(given["until"])
    except OSError as error:
        raise NoTokenError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError):
        raise NoTokenError(f"{path}: it gives no token; its journal says why") from None


def _read(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SOCKET_S)
        connection.connect(path)
        with connection.makefile(encoding="utf-8") as stream:
            return stream.read()
