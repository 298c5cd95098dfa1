"""The authority of API servers as a program of the engine, with a certificate below it and user-data that names it. The
vault is a folder, and user-data is nothing but its text."""

from __future__ import annotations

import os
from typing import Any

import pulumi
from pulumi import Output
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from components.control_plane import certificates
from components.control_plane.certificates import CertificateAuthority, IssuedCertificate
from components.model import Authority, Certificate
from components.model.secrets.certificates import KUBERNETES, Usage
from tests.components.control_plane.folder_vault import VAULT, Authorities, Issued

SIZE = "SIZE"
"""Variable: something else of a pool, which the environment's file says."""


class TextProvider(ResourceProvider):
    """Has a text."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(id_="t", outs=props)

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(outs=news)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return DiffResult(changes=olds["text"] != news["text"], replaces=[])


class Text(Resource, module="stand-in", name="Text"):
    """A template of machines."""

    text: Output[str]

    def __init__(self, name: str, *, text: pulumi.Input[str]) -> None:
        super().__init__(TextProvider(), name, {"text": text})


def main() -> None:
    """Declare the authority, a certificate, a pool's template, and something else."""
    certificates.AuthorityProvider, certificates.CertificateProvider = Authorities, Issued  # type: ignore[misc]
    url, size = os.environ[VAULT], os.environ.get(SIZE, "1")
    authority = Authority(name=KUBERNETES, common_name="dev Kubernetes")
    own = CertificateAuthority("ca", authority=authority, vault_url=url)
    leaf = Certificate(
        name="leaf", part="leaf", authority=KUBERNETES, holder="m", common_name="m", usages=(Usage.CLIENT,)
    )
    IssuedCertificate("leaf", certificate=leaf, authority=own, vault_url=url)
    Text("template", text=Output.concat(size, "\n", own.certificate))
    Text("other", text=size)
    pulumi.export("kubernetes_ca", own.certificate)
