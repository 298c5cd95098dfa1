"""Calls of an operator of the lab's Azure: ``python -m tests.lab.hypervisor.scale_set_calls make|SIZE|reimage``."""

from __future__ import annotations

import sys
from typing import Any

from clouds.azure.live_groups import AzureGroup
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.versions import COMPUTE_VERSION
from tests.lab.cloud import estate, sets
from tests.lab.cloud.conftest import GROUP, NETWORK

LIMIT_S = 600.0
DATA = b"#cloud-config\nlocale: C.UTF-8\nruncmd: [touch /run/made]\n"


def ask(method: str, path: str, body: dict[str, Any]) -> None:
    """Send a request, and wait for its operation."""
    manager = ResourceManager()
    begun = manager.ask(method, path, version=COMPUTE_VERSION, body=body)
    manager.finished(begun, what=path, limit_s=LIMIT_S)


def make() -> None:
    """Make a network, and a set of one machine in it."""
    ask("PUT", GROUP, estate.WHERE)
    ask("PUT", NETWORK, estate.network("10.1.0.0/16"))
    rules = {"securityRules": [estate.rule("web", 100, destinationPortRange="8000")]}
    ask("PUT", estate.NSG, {**estate.WHERE, "properties": rules})
    ask("PUT", estate.SUBNET, estate.subnet("10.1.0.0/24"))
    ask("PUT", sets.SET, sets.body(1, data=DATA))


def main(word: str) -> None:
    """Make the set, reimage its first machine, or set its size."""
    if word == "make":
        make()
    elif word == "reimage":
        ask("POST", f"{sets.SET}/virtualMachines/0/reimage", {})
    else:
        AzureGroup("lab-gpu", resource_group=GROUP).resize(int(word))


if __name__ == "__main__":
    main(sys.argv[1])
