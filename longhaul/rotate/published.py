"""Authorities that API servers publish, for extension servers and for other programs of the control plane.

API servers add the authorities that they trust to a ConfigMap, and do not remove them before they expire (kubernetes
1.36, ``pkg/controlplane/controller/clusterauthenticationtrust``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from components.control_plane import issuing
from contract.kubernetes.connection import ApiError, Object
from contract.object_names import SYSTEM_CONFIGMAPS
from longhaul.terminal.exits import CommandError

PUBLISHED = f"{SYSTEM_CONFIGMAPS}/extension-apiserver-authentication"
AUTHORITIES = ("client-ca-file", "requestheader-client-ca-file")
"""Fields of the ConfigMap with certificates, PEM."""


class ConfigMaps(Protocol):
    """The calls of the cluster's API that are needed here."""

    def find(self, path: str) -> Object | None:
        """Read one object; None when it does not exist."""

    def patch(self, path: str, body: Object) -> Object:
        """Change parts of an object."""


def unpublish(api: ConfigMaps, name: str, believed: Collection[str], *, tell: Callable[[str], None]) -> None:
    """Remove the certificates (PEM) with the common name ``name`` that are not trusted any more. Raise ``CommandError``
    when an API server that still trusts such a certificate adds it again."""
    if _change(api, name, believed):
        tell(f"extension servers no longer get the former authority {name}")
        if _change(api, name, believed):
            message = f"an API server still publishes the former authority {name}: run this again in a minute"
            raise CommandError(message)


def _change(api: ConfigMaps, name: str, believed: Collection[str]) -> bool:
    """Remove former certificates, and return whether there were any."""
    keys = {issuing.key_fingerprint(certificate) for certificate in believed}

    def stays(certificate: str) -> bool:
        return issuing.common_name(certificate) != name or issuing.key_fingerprint(certificate) in keys

    config_map = api.find(PUBLISHED) or {}
    data = config_map.get("data") or {}
    listed = {field: issuing.certificates_in(str(data[field])) for field in AUTHORITIES if field in data}
    kept = {field: tuple(filter(stays, certificates)) for field, certificates in listed.items()}
    if kept == listed:
        return False
    version = {"resourceVersion": config_map["metadata"]["resourceVersion"]}
    changed = {field: "".join(certificates) for field, certificates in kept.items()}
    try:
        api.patch(PUBLISHED, {"metadata": version, "data": changed})
    except ApiError as error:
        # An API server wrote it meanwhile: the next look shows the result.
        if error.status != 409:
            raise
    return True
