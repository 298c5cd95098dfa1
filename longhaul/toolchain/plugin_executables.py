"""Executables of provider plugins, in archives and in the engine's home.

The engine runs whatever lies in its home and never asks where it came from: other projects' runs of Pulumi, which
compare nothing, and restored caches write there, too. So the executable that the engine would run is compared with the
one in an archive that was compared itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from longhaul.toolchain.cache import cache_root, digest, sha256_file, write_json
from longhaul.toolchain.errors import SetupError


def digest_in_archive(archive: Path, executable: str) -> str:
    """Return the SHA-256 of an executable in a plugin's archive. Raise :class:`SetupError` when there is none."""
    actual = ""
    try:
        with tarfile.open(archive, "r|gz") as tar:
            for member in tar:
                content = tar.extractfile(member) if PurePosixPath(member.name) == PurePosixPath(executable) else None
                if content is not None:
                    actual = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SetupError(f"{archive.name} is not an archive of a plugin: {error}") from error
    if not actual:
        raise SetupError(f"{archive.name} has no file {executable}, so it is not an archive of a plugin")
    return actual


def installed_digest(path: Path) -> str:
    """Return the SHA-256 of a file. A file is read again only if it was changed or replaced, by its inode, size and
    times: some plugins have 700 MB. Nobody but root sets the time of a change (stat(2), ``st_ctim``), but whoever may
    write into the cache of Longhaul can write a digest there."""
    status = path.stat()
    identity = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    note = cache_root() / "plugin-digests" / f"{digest(str(path.resolve()))}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        noted = json.loads(note.read_text(encoding="utf-8"))
        if noted["identity"] == identity:
            return str(noted["sha256"])
    actual = sha256_file(path)
    # Without the note, the file is read each time.
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        write_json(note, {"identity": identity, "path": str(path), "sha256": actual})
    return actual


def twins(folder: Path) -> Iterator[Path]:
    """Yield the other folders that the engine takes for the plugin in ``folder``. It reads versions tolerantly and
    compares them without what follows a plus sign, and the last folder decides (v3.250.0,
    ``sdk/go/common/workspace/plugins.go``, ``tryPlugin``, ``SelectCompatiblePlugin``)."""
    name, _, version = folder.name.rpartition("-v")
    for other in folder.parent.glob(f"{name}-v*"):
        if other.is_dir() and other != folder and _plain(other.name.removeprefix(f"{name}-v")) == _plain(version):
            yield other


def _plain(version: str) -> str:
    """Return a version in the form in which equal ones are the same text."""
    return re.sub(r"(\.0)+$", "", version.strip().removeprefix("v").partition("+")[0])
