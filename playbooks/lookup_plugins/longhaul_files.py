"""Lookup of the files that make a bare-metal host a node. A cloud's machine gets such files from cloud-init."""

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: longhaul_files
short_description: the files of a bare-metal host
description: Returns for each host a mapping from path to content, mode, owner and secret.
options:
  _terms:
    description: names of hosts in the hosts file; none with a token
    required: false
  kubernetes_ca:
    description: the cluster's authority, PEM
    type: str
  token:
    description: a join token; only the file with which a host joins is returned then
    type: str
"""


class LookupModule(LookupBase):
    """Entry point that Ansible loads."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[dict[str, Any]]:
        from longhaul.racks.ansible_script import host_map, join_map
        from longhaul.terminal.exits import CommandError

        self.set_options(var_options=variables, direct=kwargs)
        try:
            if token := self.get_option("token"):
                return [join_map(os.environ, token=str(token))]
            authority = str(self.get_option("kubernetes_ca"))
            return [host_map(os.environ, str(term), kubernetes_ca=authority) for term in terms]
        except CommandError as error:
            raise AnsibleLookupError(str(error)) from error
