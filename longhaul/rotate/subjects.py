"""Table of everything that ``longhaul rotate`` replaces."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from components.model.network.tunnel_keys import TUNNELS
from components.model.secrets.certificates import ADMINISTRATORS, ETCD_CLIENT, FRONT_PROXY, KUBERNETES, NODES
from components.model.secrets.encryption_keys import ENCRYPTION
from components.model.secrets.rotations import AUTHORITY, SERVICE_ACCOUNTS

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.secrets.rotations import RotationProgress
    from contract.kubernetes.api import Api
    from longhaul.project.context import Context
    from longhaul.rotate.stack import Stack


@dataclass(frozen=True, kw_only=True)
class RotationArguments:
    """Arguments of a run."""

    what: str
    where: Context
    environment: Environment
    control: Any
    place: Any
    api: Api
    has_lease: Callable[[], bool]
    tell: Callable[[str], None]
    readmit: str
    now: bool
    without: tuple[str, ...]

    def stack(self, variable: str) -> Stack:
        """Return the environment's stack; ``variable`` makes its program read the rotated secrets again."""
        from longhaul.engine.run_log import new_log
        from longhaul.rotate.stack import Stack

        log = new_log(self.where, "rotate", os.environ)
        return Stack(
            where=self.where,
            environment=self.environment,
            environ=os.environ,
            title=self.what,
            variable=variable,
            log=log,
            began=time.monotonic(),
        )


@dataclass(frozen=True, kw_only=True)
class KnownRotation:
    """A rotation that the command offers."""

    name: str
    what: str
    """Its description, for the command's help."""
    run: Callable[[RotationArguments], dict[str, Any]]
    """Continues the rotation, and returns the progress for programs."""
    takes: frozenset[str] = frozenset()
    """Names of the options that it accepts."""
    master: bool = False
    """True when the run needs a certificate in ``system:masters``, because an administrator's certificate becomes
    invalid during the run."""


def _encryption(asked: RotationArguments) -> dict[str, Any]:
    from components.control_plane.issuing import new_encryption_key
    from longhaul.rotate.encryption import Rotation
    from longhaul.vault.encryption_keys import EncryptionVault, for_programs

    record = EncryptionVault(control=asked.control, place=asked.place, environment=asked.environment)
    rotation = Rotation(
        record=record, api=asked.api, new_key=new_encryption_key, tell=asked.tell, has_lease=asked.has_lease
    )
    keys = rotation.readmit(asked.readmit) if asked.readmit else rotation.run()
    return for_programs(keys, record.retired())


def _service_accounts(asked: RotationArguments) -> dict[str, Any]:
    from longhaul.rotate.overlap import Overlap, RotationStore
    from longhaul.rotate.servers import digests
    from longhaul.rotate.service_accounts import ServiceAccounts

    record = RotationStore(control=asked.control, place=asked.place, environment=asked.environment)
    subject = ServiceAccounts(vault=record, api=asked.api, tell=asked.tell)
    standing = Overlap(record=record, subject=subject, tell=asked.tell, has_lease=asked.has_lease).run(now=asked.now)
    return _standing_document(standing, digests("".join(subject.keys().verifies)))


def _authority(asked: RotationArguments) -> dict[str, Any]:
    from longhaul.rotate.authorities import AuthorityRotation
    from longhaul.rotate.overlap import Overlap, RotationStore
    from longhaul.rotate.servers import digests

    record = RotationStore(control=asked.control, place=asked.place, environment=asked.environment)
    subject = AuthorityRotation.of(record, asked.what.removeprefix(AUTHORITY), api=asked.api, tell=asked.tell)
    standing = Overlap(record=record, subject=subject, tell=asked.tell, has_lease=asked.has_lease).run(now=asked.now)
    return _standing_document(standing, digests("".join(subject.trusted_certificates())))


def _kubernetes(asked: RotationArguments) -> dict[str, Any]:
    from components.model.secrets.rotations import READ_VARIABLE
    from longhaul.rotate.followers import Followers
    from longhaul.rotate.kubernetes import KubernetesRotation, StackMachines
    from longhaul.rotate.overlap import Overlap, RotationStore
    from longhaul.rotate.servers import digests

    record = RotationStore(control=asked.control, place=asked.place, environment=asked.environment)
    subject = KubernetesRotation.of(
        record,
        KUBERNETES,
        api=asked.api,
        tell=asked.tell,
        followers=Followers(api=asked.api, tell=asked.tell, without=asked.without, clock=asked.api.now),
        new_machines=StackMachines(stack=asked.stack(READ_VARIABLE)),
    )
    standing = Overlap(record=record, subject=subject, tell=asked.tell, has_lease=asked.has_lease).run(now=asked.now)
    return _standing_document(standing, digests("".join(subject.trusted_certificates())))


def _tunnels(asked: RotationArguments) -> dict[str, Any]:
    from components.model.network.tunnel_keys import READ_VARIABLE
    from longhaul.rotate.overlap import Overlap, RotationStore
    from longhaul.rotate.tunnel_ends import StackTunnelEnds
    from longhaul.rotate.tunnels import TunnelRotation

    record = RotationStore(control=asked.control, place=asked.place, environment=asked.environment)
    ends = StackTunnelEnds(stack=asked.stack(READ_VARIABLE))
    subject = TunnelRotation(vault=record, ends=ends, tell=asked.tell)
    standing = Overlap(record=record, subject=subject, tell=asked.tell, has_lease=asked.has_lease).run()
    return _standing_document(standing, ())


def _standing_document(standing: RotationProgress, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the progress of a rotation with overlap; public keys are shown by their SHA-256."""
    return {"phase": standing.phase, "until": standing.until.isoformat() if standing.until else None, "keys": keys}


_NOW = frozenset({"now"})
_ALL = (
    KnownRotation(name=ENCRYPTION, what="the key of Secrets at rest", run=_encryption, takes=frozenset({"readmit"})),
    KnownRotation(name=SERVICE_ACCOUNTS, what="the key of pods' tokens", run=_service_accounts, takes=_NOW),
    KnownRotation(
        name=AUTHORITY + ADMINISTRATORS,
        what="the authority of people's certificates",
        run=_authority,
        takes=_NOW,
        master=True,
    ),
    KnownRotation(name=AUTHORITY + FRONT_PROXY, what="the authority for extension servers", run=_authority, takes=_NOW),
    KnownRotation(name=AUTHORITY + NODES, what="the authority of kubelets' certificates", run=_authority, takes=_NOW),
    KnownRotation(
        name=AUTHORITY + KUBERNETES,
        what="the authority of API servers, and of the programs that identify themselves to them by certificate",
        run=_kubernetes,
        takes=_NOW | {"without"},
    ),
    KnownRotation(name=AUTHORITY + "etcd", what="the authority of etcd members", run=_authority, takes=_NOW),
    KnownRotation(
        name=AUTHORITY + "events", what="the authority of the events' etcd members", run=_authority, takes=_NOW
    ),
    KnownRotation(name=AUTHORITY + ETCD_CLIENT, what="the authority of etcd's clients", run=_authority, takes=_NOW),
    KnownRotation(name=TUNNELS, what="the keys of IPsec tunnels between sites", run=_tunnels),
)
KNOWN = {rotation.name: rotation for rotation in _ALL}
"""All rotations, by name."""
