"""Reads a text file that a person wrote, and reports the fault when there is no such file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from components.model.loading.document_error import DocumentError

LARGEST = 16 * 1024 * 1024
"""Size of the largest file that is read, in bytes. A hosts file of 20,000 hosts has about 3 MB."""
_GIVE = "the name of a file that can be read"


def read_text(path: Path) -> str:
    """Return the text of the file ``path``. Raise ``DocumentError`` unless it is a regular file of at most
    :data:`LARGEST` bytes of UTF-8. A pipe is refused before it is opened, since opening one may block for ever. A link
    out of its folder is refused too: a pull request can add one, and error messages about a file quote its content."""
    try:
        _require_file(path)
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        target = f"is a link to {os.readlink(path)}, which does not exist" if path.is_symlink() else "does not exist"
        raise DocumentError(target, "the name of a file that exists") from None
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror}", _GIVE) from None
    except ValueError as error:
        raise DocumentError(f"is not the name of a file: {error}", _GIVE) from None
    if len(content) > LARGEST:
        raise DocumentError(f"is larger than {LARGEST // 1024 // 1024} MiB", "a smaller file")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentError("is not text in UTF-8", "the same text, saved as UTF-8", line) from None


def _require_file(path: Path) -> None:
    if path.is_symlink() and path.exists() and path.resolve().parent != path.parent.resolve():
        raise DocumentError(f"is a link out of its folder, to {os.readlink(path)}", "the file itself")
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise DocumentError("is a directory", "the name of a file")
    if not stat.S_ISREG(mode):
        raise DocumentError("is a pipe, a socket or a device, not a file", "the name of a regular file")
