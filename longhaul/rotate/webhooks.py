"""Authorities with which API servers check the webhooks of Kueue and JobSet, during a rotation of the API servers'
authority. This authority also signs the webhooks' certificates."""

from __future__ import annotations

import base64
from collections.abc import Callable

from components.model.teams.queues import MANAGERS, webhooks_name
from contract.kubernetes.connection import ApiError
from longhaul.rotate.published import ConfigMaps
from longhaul.terminal.exits import CommandError

KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def trust_in_webhooks(api: ConfigMaps, authorities: str, *, tell: Callable[[str], None]) -> None:
    """Have API servers trust these authorities (PEM) for our webhooks, if there are any. Raise ``CommandError`` when
    somebody else writes them at the same time."""
    bundle = base64.b64encode(authorities.encode()).decode()
    for manager in MANAGERS:
        for kind in KINDS:
            _believe(api, f"/apis/admissionregistration.k8s.io/v1/{kind}/{webhooks_name(manager)}", bundle, tell=tell)


def _believe(api: ConfigMaps, path: str, bundle: str, *, tell: Callable[[str], None]) -> None:
    configuration = api.find(path)
    if configuration is None or all(
        webhook["clientConfig"].get("caBundle") == bundle for webhook in configuration["webhooks"]
    ):
        return
    webhooks = [
        {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": bundle}}
        for webhook in configuration["webhooks"]
    ]
    version = {"resourceVersion": configuration["metadata"]["resourceVersion"]}
    try:
        api.patch(path, {"metadata": version, "webhooks": webhooks})
    except ApiError as error:
        if error.status != 409:
            raise
        raise CommandError(f"{path} was changed by somebody else just now: run this again") from error
    tell(f"API servers trust the webhooks of {configuration['metadata']['name']} by {bundle_words(bundle)}")


def bundle_words(bundle: str) -> str:
    """Return the number of authorities in a bundle, as text."""
    count = base64.b64decode(bundle).count(b"-----BEGIN CERTIFICATE-----")
    return "both authorities" if count > 1 else "one authority"
