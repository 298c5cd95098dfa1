"""Rotation of the authorities whose certificates only control-plane machines check (docs/rotation.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from components.control_plane import issuing
from components.model import Authority, Certificate, authorities, certificates, plan
from components.model.control_plane.machines import Role
from components.model.secrets.certificates import ADMINISTRATORS, ETCD_CLIENT, FRONT_PROXY, KUBERNETES, NODES
from components.model.secrets.rotations import rotation_of
from components.model.secrets.vault import next_secret
from contract.lifetimes import ADMINISTRATOR_HOURS, NODE_CERTIFICATE_DAYS
from longhaul.rotate.overlap import ServerSubject
from longhaul.rotate.published import ConfigMaps, unpublish
from longhaul.rotate.servers import distribute, outdated_machines
from longhaul.vault.rotation import RotationVault

RELOAD = timedelta(seconds=90)
"""Time in which Kubernetes' programs load a changed certificate or client authority: they look at the file once a
minute, and when the file system reports a change (k8s.io/apiserver 0.36, dynamiccertificates,
``FileRefreshDuration``)."""

RELOAD_SERVERS = timedelta(seconds=330)
"""Time in which Kubernetes' programs load a changed authority of servers, such as kubelets (client-go 0.36,
transport/ca_rotation.go, ``caRefreshDuration``: five minutes)."""


@dataclass(frozen=True, kw_only=True)
class RotationTimes:
    """Times and texts for an authority's rotation."""

    learn: timedelta
    life: timedelta
    """Longest validity of the authority's certificates that machines or people hold, and that the vault does not
    reissue."""
    signed: str
    """Description of the certificates with the validity ``life``."""


TIMES = {
    ADMINISTRATORS: RotationTimes(
        learn=RELOAD, life=timedelta(hours=ADMINISTRATOR_HOURS), signed="administrators' certificates"
    ),
    NODES: RotationTimes(
        learn=RELOAD_SERVERS, life=timedelta(days=NODE_CERTIFICATE_DAYS), signed="nodes' certificates"
    ),
    FRONT_PROXY: RotationTimes(
        learn=RELOAD, life=timedelta(0), signed="API servers' certificates for extension servers"
    ),
    # Programs restart with these authorities, and read certificates at each handshake (etcd 3.6,
    # client/pkg/transport/listener.go).
    **{
        str(role): RotationTimes(learn=timedelta(0), life=timedelta(0), signed="members' certificates")
        for role in (Role.ETCD, Role.EVENTS)
    },
    KUBERNETES: RotationTimes(
        learn=RELOAD_SERVERS,
        life=timedelta(hours=ADMINISTRATOR_HOURS),
        signed="certificates of `longhaul up`, and copies of the break-glass one,",
    ),
    ETCD_CLIENT: RotationTimes(
        learn=timedelta(0), life=timedelta(0), signed="API servers' certificates for the etcd clusters"
    ),
}
"""Times of the authorities that can be rotated, by name."""


@dataclass(frozen=True, kw_only=True)
class AuthorityRotation(ServerSubject):
    """Rotation of one authority, as an ``overlap.RotationSubject``."""

    vault: RotationVault
    authority: Authority
    api: ConfigMaps
    tell: Callable[[str], None]

    @classmethod
    def of(cls, vault: RotationVault, name: str, *, api: ConfigMaps, tell: Callable[[str], None], **more: Any) -> Self:
        """Return the rotation of the authority ``name``; ``more`` are a subclass's further fields."""
        (authority,) = (authority for authority in authorities(vault.environment) if authority.name == name)
        return cls(vault=vault, authority=authority, api=api, tell=tell, **more)

    @property
    def name(self) -> str:
        """Return the name of the rotation."""
        return rotation_of(self.authority.secret)

    @property
    def reload_time(self) -> timedelta:
        """Return the time in which programs load a changed file."""
        return TIMES[self.authority.name].learn

    @property
    def signed_lifetime(self) -> timedelta:
        """Return the longest validity of a certificate that the vault does not reissue."""
        return TIMES[self.authority.name].life

    @property
    def signed_words(self) -> str:
        """Return a description of the certificates that the former authority has signed."""
        return TIMES[self.authority.name].signed

    def prepare(self) -> None:
        """Make the new authority. It has the name of the former authority; the keys distinguish the two."""
        if self._pair(self._next) is None:
            name, days = self.authority.common_name, self.authority.days
            self._keep(self._next, issuing.new_authority(common_name=name, days=days, key=issuing.new_key()))

    def trust(self) -> None:
        """Have the certificates of both authorities trusted."""
        self._believe(*issuing.certificates_in(self.vault.get(self.authority.trust_secret)), self._new().certificate)

    def use(self) -> None:
        """Make the new authority sign, and reissue every certificate in the vault that the former authority signed."""
        new = self._new()
        if self._pair(self.authority.secret) != new:
            self._keep(self.authority.secret, new)
        for certificate in self._issued():
            if not issuing.is_issued_by(_certificate(self.vault.get(certificate.name)), new.certificate):
                self.vault.write_text(
                    certificate.name,
                    issuing.secret_value(issuing.issue(issuing.subject_of(certificate), authority=new), new),
                )

    def why_not_over(self, until: datetime) -> str:  # noqa: ARG002 - all that it signed has ended by then
        """Return an empty text: all certificates of the authority expire."""
        return ""

    def distrust(self) -> None:
        """Have only the new authority's certificates trusted."""
        self._believe(_certificate(self.vault.get(self.authority.secret)))

    def distribute(self) -> None:
        """Have machines load the authorities and certificates from the vault."""
        distribute(self.vault, self._secrets().__contains__, tell=self.tell)

    def outdated_machines(self) -> tuple[str, ...]:
        """Return the machines that do not know yet that the rotation is over."""
        return outdated_machines(self.vault, self.name, self._secrets().__contains__)

    def end(self) -> None:
        """Clear the new authority's place in the vault, and remove the former authority from those that API servers
        publish."""
        unpublish(self.api, self.authority.common_name, self.trusted_certificates(), tell=self.tell)
        self.vault.change(self._next, "{}")

    def trusted_certificates(self) -> tuple[str, ...]:
        """Return the trusted authorities, PEM."""
        return issuing.certificates_in(self.vault.get(self.authority.trust_secret))

    @property
    def _next(self) -> str:
        return next_secret(self.authority.secret)

    def _secrets(self) -> set[str]:
        return {
            self.authority.secret,
            self.authority.trust_secret,
            *(certificate.name for certificate in self._issued()),
        }

    def _issued(self) -> list[Certificate]:
        planned = certificates(self.vault.environment, plan(self.vault.environment))
        return [certificate for certificate in planned if certificate.authority == self.authority.name]

    def _new(self) -> issuing.Pair:
        """Return the new authority."""
        pair = self._pair(self._next) or self._pair(self.authority.secret)
        if pair is None:
            raise LookupError(self._next)
        return pair

    def _pair(self, secret: str) -> issuing.Pair | None:
        pair = json.loads(self.vault.text(secret) or "{}")
        return issuing.Pair(certificate=pair["certificate"], key=pair["key"]) if pair else None

    def _keep(self, secret: str, pair: issuing.Pair) -> None:
        self.vault.write_text(secret, json.dumps({"certificate": pair.certificate, "key": pair.key}))

    def _believe(self, *certificates: str) -> None:
        self.vault.change(self.authority.trust_secret, "".join(dict.fromkeys(certificates)))


def _certificate(secret: str) -> str:
    return str(json.loads(secret)["certificate"])
