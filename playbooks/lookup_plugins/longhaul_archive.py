"""Lookup that packs a map of files, so that the unarchive module can write them to a host's file system in one step."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Mapping
from typing import Any

from ansible import constants
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: longhaul_archive
short_description: packs files
description: Packs mappings from path to content, mode and owner. Returns archives' paths, gone when ansible ends.
options:
  _terms:
    description: mappings
    required: true
"""


class LookupModule(LookupBase):
    """Entry point that Ansible loads."""

    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[str]:
        self.set_options(var_options=variables, direct=kwargs)
        return [_pack(term) for term in terms]


def _pack(files: Mapping[str, Mapping[str, Any]]) -> str:
    descriptor, name = tempfile.mkstemp(prefix="files-", suffix=".tar", dir=constants.DEFAULT_LOCAL_TMP)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, wanted in sorted(files.items()):
            content = str(wanted["content"]).encode()
            entry = tarfile.TarInfo(str(path).lstrip("/"))
            entry.size, entry.mode = len(content), int(str(wanted["mode"]), 8)
            entry.uname, _, entry.gname = str(wanted["owner"]).partition(":")
            tar.addfile(entry, io.BytesIO(content))
    return name
