"""Connection plugin of Ansible for a folder that holds a system; :mod:`lab.ansible.runner` prepares the folder."""

from __future__ import annotations

from pathlib import Path

from lab.ansible.connection import LocalSystem

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


class Connection(LocalSystem):
    """Connection that Ansible finds by this class name; runs tasks by chroot."""

    transport = "rootfs"
    environment = _ENVIRONMENT

    def argv(self, command: str) -> list[str]:
        return ["chroot", self.get_option("root"), "/bin/sh", "-c", command]

    def root(self) -> Path:
        return Path(self.get_option("root"))
