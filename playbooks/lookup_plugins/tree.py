"""A lookup that packs a folder of this machine, for the unarchive module to lay it over a host's file system at once.

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
    """What Ansible looks for."""

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
    """As Git keeps it: of nobody's in particular, and with one bit of its mode. Folders are made, never changed."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode = 0o755 if entry.mode & stat.S_IXUSR else 0o644
    entry.mtime = 0
    return entry
