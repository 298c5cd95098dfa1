"""Rotation of the key that signs service accounts' tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys
from components.model.secrets.rotations import SERVICE_ACCOUNTS
from components.model.secrets.vault import SIGNING_KEYS, next_secret
from contract.lifetimes import SERVICE_ACCOUNT_TOKEN_HOURS
from longhaul.rotate.overlap import ServerSubject
from longhaul.rotate.servers import distribute, outdated_machines
from longhaul.vault.record import unusable_error
from longhaul.vault.rotation import RotationVault

if TYPE_CHECKING:
    from contract.kubernetes.api import Api

ENDLESS = "type=kubernetes.io/service-account-token"
"""Field selector of Secrets with tokens that never expire, which kube-controller-manager signs."""

NEXT = next_secret(SIGNING_KEYS)


@dataclass(frozen=True, kw_only=True)
class ServiceAccounts(ServerSubject):
    """Rotation of the key for service accounts' tokens, as an ``overlap.RotationSubject``."""

    vault: RotationVault
    api: Api
    tell: Callable[[str], None]

    name = SERVICE_ACCOUNTS
    reload_time = timedelta(0)
    """Zero: servers restart with the keys."""
    signed_lifetime = timedelta(hours=SERVICE_ACCOUNT_TOKEN_HOURS)
    signed_words = "tokens"

    def keys(self) -> SigningKeys:
        """Return the keys in use."""
        try:
            return SigningKeys.parse(self.vault.get(SIGNING_KEYS))
        except ValueError as error:
            raise unusable_error(SIGNING_KEYS, error) from None

    def prepare(self) -> None:
        """Make the new signing key."""
        if not self._next():
            self.vault.write_text(NEXT, json.dumps({"key": issuing.new_key()}))

    def trust(self) -> None:
        """Have the new key's tokens trusted."""
        self.vault.change(SIGNING_KEYS, self.keys().trusting(self._next()).text())

    def use(self) -> None:
        """Have the new key sign."""
        self.vault.change(SIGNING_KEYS, self.keys().using(self._next()).text())

    def why_not_over(self, until: datetime) -> str:
        """Return which tokens without expiry the former key has signed; empty when there are none."""
        begun = until - self.signed_lifetime
        left = [
            f"{secret['metadata']['namespace']}/{secret['metadata']['name']}"
            for secret in self.api.items("/api/v1/secrets", fieldSelector=ENDLESS)
            if datetime.fromisoformat(str(secret["metadata"]["creationTimestamp"]).replace("Z", "+00:00")) < begun
        ]
        return (
            f"the Secrets {', '.join(left)} hold tokens of the former key that never expire. Replace them, or run "
            "this with --now, which invalidates them"
            if left
            else ""
        )

    def distrust(self) -> None:
        """Have only the new key's tokens trusted."""
        self.vault.change(SIGNING_KEYS, SigningKeys.alone(self.keys().signs).text())

    def distribute(self) -> None:
        """Restart API servers and controller-managers with the keys, one machine after the other."""
        distribute(self.vault, lambda name: name == SIGNING_KEYS, tell=self.tell)

    def outdated_machines(self) -> tuple[str, ...]:
        """Return the API servers that do not know yet that the rotation is over."""
        return outdated_machines(self.vault, self.name, lambda name: name == SIGNING_KEYS)

    def end(self) -> None:
        """Clear the new key's place in the vault."""
        self.vault.change(NEXT, "{}")

    def _next(self) -> str:
        return str(json.loads(self.vault.text(NEXT) or "{}").get("key", ""))
