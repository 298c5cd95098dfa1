"""Lookup of a file of a depot. The file is accepted only if the depot's builder has signed it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.module_utils.urls import open_url
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: longhaul_depot
short_description: a signed file of a depot
description: Returns the text of each file, which this machine fetches, if the builder's signature covers the file.
options:
  _terms:
    description: paths in the depot
    required: true
  address:
    description: address of the depot (https://…)
    type: str
    required: true
  key:
    description: public keys that sign for depots, as the environment's file has them
    type: str
    required: true
  authority:
    description: certificates of the authorities of the depot's server, PEM; by default this machine's store
    type: str
    default: ""
"""

TIMEOUT_S = 60
"""Longest silence of the depot in seconds."""
MOST_BYTES = 64 << 20
"""Largest size in bytes of a file that is read."""


class LookupModule(LookupBase):
    """Entry point that Ansible loads."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[str]:
        from longhaul.artifacts.served_files import read
        from longhaul.toolchain.errors import SetupError

        self.set_options(var_options=variables, direct=kwargs)
        address, key = str(self.get_option("address")), str(self.get_option("key"))
        fetch = partial(_fetch, authority=str(self.get_option("authority")))
        try:
            return [read(address, str(term), key=key, fetch=fetch).decode("utf-8") for term in terms]
        except (SetupError, UnicodeDecodeError) as error:
            raise AnsibleLookupError(str(error)) from error


def _fetch(url: str, *, authority: str) -> bytes:
    try:
        with _file(authority) as path, open_url(url, timeout=TIMEOUT_S, ca_path=path) as answer:
            content: bytes = answer.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise AnsibleLookupError(f"{url}: {error}") from error
    if len(content) > MOST_BYTES:
        raise AnsibleLookupError(f"{url} is larger than any list of a depot")
    return content


@contextmanager
def _file(content: str) -> Iterator[str | None]:
    """Yield the path of a file that has the content during the block; None without content."""
    if not content:
        yield None
        return
    with tempfile.NamedTemporaryFile(mode="w", suffix=".pem", encoding="ascii") as file:
        file.write(content)
        file.flush()
        yield file.name
