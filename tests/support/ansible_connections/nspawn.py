"""Connects Ansible to a machine that a test runs with systemd-nspawn, in place of SSH."""

from __future__ import annotations

from pathlib import Path

from lab.ansible.connection import LocalSystem
from lab.hypervisor.nspawn import inside

DOCUMENTATION = """
name: nspawn
short_description: runs tasks in a machine of systemd-nspawn
description: Runs tasks as root among the machine's own processes.
options:
  leader:
    description: The machine's process 1.
    type: int
    required: true
    vars:
      - name: ansible_leader
extends_documentation_fragment:
  - connection_pipelining
"""


class Connection(LocalSystem):
    """Ansible's connection plugin, which it finds by this name."""

    transport = "nspawn"

    def argv(self, command: str) -> list[str]:
        return inside(self.get_option("leader"), ["/bin/sh", "-c", command])

    def root(self) -> Path:
        return Path(f"/proc/{self.get_option('leader')}/root")
