"""An environment's vault, and who has signed in to it, for commands that read it alone."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from clouds.azure import control
from clouds.azure.control import AzureControlAccess
from clouds.azure.errors import AzureError
from components.control_plane import issuing
from components.model import Environment
from components.model.secrets.vault import vault_url

ANNA = "anna@example.com"


class OpenedVault:
    """Secrets, and what was read of them."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.secrets = dict(secrets)
        self.read: list[str] = []
        self.signed_in = ANNA
        self.error: AzureError | None = None

    def get(self, name: str) -> str | None:
        self.read.append(name)
        if self.error:
            raise self.error
        return self.secrets.get(name)

    def open_for(self, environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
        """Be the vault of an environment."""

        def opened(url: str) -> OpenedVault:
            assert url == vault_url(environment)
            return self

        monkeypatch.setattr(control, "KeyVault", opened)
        monkeypatch.setattr(AzureControlAccess, "signed_in", staticmethod(lambda _place: self.signed_in))


def new_authority(name: str) -> issuing.Pair:
    return issuing.new_authority(common_name=name, days=1, key=issuing.new_key())


def stored(pair: issuing.Pair) -> str:
    return json.dumps({"certificate": pair.certificate, "key": pair.key})
