"""Ansible's way into a folder that holds a system, as SSH is into a machine; :mod:`lab.ansible.runner` prepares it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ansible.plugins.connection import ConnectionBase  # type: ignore[import-untyped]

DOCUMENTATION = """
name: rootfs
short_description: runs tasks in a folder that holds a system
description: Runs tasks by chroot. The folder has to have /proc, /dev, /run and /tmp in it.
options:
  root:
    description: The folder.
    required: true
    vars:
      - name: ansible_rootfs
extends_documentation_fragment:
  - connection_pipelining
"""
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}


class Connection(ConnectionBase):  # type: ignore[misc]
    """What Ansible looks for."""

    transport = "rootfs"
    has_pipelining = True

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        argv = ["chroot", self.get_option("root"), "/bin/sh", "-c", cmd]
        done = subprocess.run(argv, input=in_data or b"", capture_output=True, env=_ENVIRONMENT, check=False)
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path: str, out_path: str) -> None:
        super().put_file(in_path, out_path)
        shutil.copyfile(in_path, self._inside(out_path))

    def fetch_file(self, in_path: str, out_path: str) -> None:
        super().fetch_file(in_path, out_path)
        shutil.copyfile(self._inside(in_path), out_path)

    def close(self) -> None:
        self._connected = False

    def _inside(self, path: str) -> Path:
        return Path(self.get_option("root")) / os.path.normpath(f"/{path}").lstrip("/")
