"""Lookup of the services' tree, which is made for a machine's Python (longhaul/toolchain/services.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display

DOCUMENTATION = """
name: services
short_description: makes the services' tree
description: Returns for each machine the path of a folder with the services and the locked packages that they need.
options:
  _terms:
    description: the version of a machine's Python and the kernel's name of its processor, such as C(3.12 x86_64)
    required: true
"""


class LookupModule(LookupBase):
    """Entry point that Ansible loads."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[str]:
        self.set_options(var_options=variables, direct=kwargs)
        return [_made(str(term)) for term in terms]


def _made(machine: str) -> str:
    from longhaul.toolchain import services
    from longhaul.toolchain.cache import cache_root
    from longhaul.toolchain.errors import SetupError

    python, _, processor = machine.partition(" ")
    try:
        made = services.ensure(
            python=python, machine=processor, log_dir=cache_root() / "log", progress=Display().display
        )
    except SetupError as error:
        raise AnsibleLookupError(str(error)) from error
    return str(Path(made))
