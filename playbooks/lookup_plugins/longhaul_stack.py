"""Lookup of the stack's outputs for hosts: the tunnels and their keys, and the cluster's authority."""

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: longhaul_stack
short_description: what the stack knows of the racks
description: Returns the stack's outputs kubernetes_ca and onprem_tunnels, which Pulumi decrypts. They contain secrets.
"""


class LookupModule(LookupBase):
    """Entry point that Ansible loads."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[dict[str, Any]]:
        self.set_options(var_options=variables, direct=kwargs)
        if terms:
            raise AnsibleLookupError("longhaul_stack takes no terms: the environment's variables say which stack")
        from longhaul.racks.ansible_script import place
        from longhaul.racks.stack_outputs import stack_outputs
        from longhaul.terminal.exits import CommandError

        try:
            return [stack_outputs(place(os.environ), os.environ)]
        except CommandError as error:
            raise AnsibleLookupError(str(error)) from error
