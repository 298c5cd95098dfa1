"""Lookup that packs folders of this machine, so that the unarchive module can write them to a host's file system in one
step.

The copy module would take two round trips for each file. Folders with the same content give the same archive, so a
second run changes nothing.
"""

from __future__ import annotations

import os
import stat
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: tree
short_description: packs folders
description: Returns for each term the path of an archive of files and links, kept until ansible ends.
options:
  _terms:
    description: >-
      paths of folders on this machine, each for the host's root; or mappings of places below the host's root to such
      paths, each mapping for one archive
    required: true
"""


class LookupModule(LookupBase):
    """Entry point that Ansible loads."""

    def run(self, terms: list[str | dict[str, str]], variables: Any = None, **kwargs: Any) -> list[str]:
        self.set_options(var_options=variables, direct=kwargs)
        return [_pack({"": term} if isinstance(term, str) else term) for term in terms]


def _pack(trees: Mapping[str, str]) -> str:
    from longhaul.toolchain.trees import files_of

    for tree in trees.values():
        if not Path(tree).is_dir():
            raise AnsibleLookupError(f"{tree} is not a folder")
    descriptor, archive = tempfile.mkstemp(prefix="tree-", suffix=".tar", dir=constants.DEFAULT_LOCAL_TMP)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for place, tree in trees.items():
            for name, path in files_of([Path(tree)]):
                tar.add(path, arcname=str(Path(place) / name), recursive=False, filter=_plain)
    return archive


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Reduce an entry's properties to those that Git keeps: no particular owner, and only the executable bit of the
    mode. The archive contains no folders, so that unarchive makes missing folders and never changes existing ones."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode = 0o755 if entry.mode & stat.S_IXUSR else 0o644
    entry.mtime = 0
    return entry
