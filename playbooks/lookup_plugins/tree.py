"""Lookup that packs a folder of this machine, so that the unarchive module can write it to a host's file system at
once.

The copy module would take two round trips for each file. The archive is the same whenever the folder's content is, so a
second run changes nothing.
"""

from __future__ import annotations

import os
import stat
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: tree
short_description: packs folders
description: Returns for each folder the path of an archive of its files and links, kept until ansible ends.
options:
  _terms:
    description: paths of folders on this machine
    required: true
"""


class LookupModule(LookupBase):
    """Entry point that Ansible loads."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[str]:
        self.set_options(var_options=variables, direct=kwargs)
        return [_pack(Path(str(term))) for term in terms]


def _pack(tree: Path) -> str:
    from longhaul.toolchain.trees import files_of

    if not tree.is_dir():
        raise AnsibleLookupError(f"{tree} is not a folder")
    descriptor, name = tempfile.mkstemp(prefix="tree-", suffix=".tar", dir=constants.DEFAULT_LOCAL_TMP)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name_in_root, path in files_of([tree]):
            tar.add(path, arcname=name_in_root, recursive=False, filter=_plain)
    return name


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Reduce an entry to what Git keeps: no particular owner, and only the executable bit of the mode. Folders are not
    in the archive: missing ones are made, existing ones never changed."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode = 0o755 if entry.mode & stat.S_IXUSR else 0o644
    entry.mtime = 0
    return entry
