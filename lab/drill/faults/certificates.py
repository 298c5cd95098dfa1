"""Faults of certificates: near expiry, and expired. The repair is the user's one command, ``longhaul up``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from contract.paths import KUBERNETES_AUTHORITIES, PKI
from contract.units import ETCD, KUBE_APISERVER
from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.faults.services import kill
from lab.drill.members import answers, await_effect, leader
from lab.state import LabError

CertificateParts = Mapping[str, tuple[str, ...]]
"""Certificates by the machine that has them."""

NEAR_S = 1800.0
"""Remaining lifetime, in seconds, of a certificate near expiry: less than a sixth of its life
(:mod:`lab.drill.certificate_aging`)."""
END_S = 20.0
"""Remaining lifetime, in seconds, of a certificate that is to expire: longer than a machine needs to fetch it."""
TOLD_S = 120.0
"""Seconds within which the expiry has an effect, and ``longhaul status`` reports it."""
FETCH = ("systemctl", "start", "longhaul-secrets-refresh.service")
EXPIRED = "certificate has expired"
"""Words of a TLS client that refuses an expired certificate (OpenSSL, ``X509_verify_cert_error_string``)."""


@contextmanager
def near_end(environment: DrillEnvironment) -> Iterator[str]:
    """Age certificates of a follower and of an API server, so that they expire soon."""
    near = {_follower(environment): ("member", "client"), environment.machines("api")[0]: ("apiserver", "etcd-client")}
    with _renewed_by_up(environment, near):
        _age(environment, near, ends_in_s=NEAR_S)
        _await_reported(environment, near, verdict="degraded", word="end")
        yield _named(near)


@contextmanager
def member_ended(environment: DrillEnvironment) -> Iterator[str]:
    """Let a follower's certificates expire, and kill the follower, so that it must present them to all its peers
    again."""
    machine = _follower(environment)
    ended = {machine: ("member", "client")}
    with _renewed_by_up(environment, ended):
        _age(environment, ended, ends_in_s=END_S)
        await_effect(lambda: not answers(environment, machine), what=f"{machine} is refused", within_s=TOLD_S)
        kill(environment, machine, ETCD)
        _await_reported(environment, ended, verdict="unhealthy", word="ended")
        yield _named(ended)


@contextmanager
def server_ended(environment: DrillEnvironment) -> Iterator[str]:
    """Let the serving certificate of the first API server expire: the load balancer still sends clients to it."""
    machine = environment.machines("api")[0]
    ended = {machine: ("apiserver",)}
    with _renewed_by_up(environment, ended):
        _age(environment, ended, ends_in_s=END_S)
        await_effect(lambda: _is_refused(environment, machine), what=f"{machine} is refused", within_s=TOLD_S)
        _await_reported(environment, ended, verdict="unhealthy", word="ended")
        yield _named(ended)


@contextmanager
def server_client_ended(environment: DrillEnvironment) -> Iterator[str]:
    """Let the first API server's client certificate for etcd expire, and kill the server, so that it must present the
    certificate again."""
    machine = environment.machines("api")[0]
    ended = {machine: ("etcd-client",)}
    with _renewed_by_up(environment, ended):
        _age(environment, ended, ends_in_s=END_S)
        _await_reported(environment, ended, verdict="unhealthy", word="ended")
        kill(environment, machine, KUBE_APISERVER)
        yield _named(ended)


@contextmanager
def _renewed_by_up(environment: DrillEnvironment, certificates: CertificateParts) -> Iterator[None]:
    try:
        yield
    finally:
        environment.up()
    messages = _messages(environment)
    if left := [machine for machine in certificates if "certificate" in messages[machine][1]]:
        raise LabError(f"after `longhaul up`, status still says {messages[left[0]][1]!r} of {left[0]}")


def _age(environment: DrillEnvironment, certificates: CertificateParts, *, ends_in_s: float) -> None:
    names = [f"{machine}-{part}" for machine, parts in certificates.items() for part in parts]
    environment.age(*names, ends_in_s=ends_in_s)
    for machine in certificates:
        environment.output(machine, *FETCH)


def _await_reported(environment: DrillEnvironment, certificates: CertificateParts, *, verdict: str, word: str) -> None:
    """Wait until ``longhaul status`` reports each machine's certificates, and the remedy."""

    def is_reported() -> bool:
        messages = _messages(environment)
        return all(
            messages[machine][0] == verdict
            and f" {word}" in messages[machine][1]
            and "`longhaul up" in messages[machine][1]
            and all(part in messages[machine][1] for part in parts)
            for machine, parts in certificates.items()
        )

    await_effect(
        is_reported, what=f"`longhaul status` tells of the certificates of {_named(certificates)}", within_s=TOLD_S
    )


def _messages(environment: DrillEnvironment) -> dict[str, tuple[str, str]]:
    return {machine["name"]: (machine["verdict"], machine["message"]) for machine in environment.status()["machines"]}


def _is_refused(environment: DrillEnvironment, machine: str) -> bool:
    address = f"127.0.0.1:{environment.environment.control_plane.api.port}"
    words = ("-connect", address, "-CAfile", f"{PKI}/{KUBERNETES_AUTHORITIES}")
    return EXPIRED in environment.output(machine, "openssl", "s_client", *words)


def _follower(environment: DrillEnvironment) -> str:
    members = environment.machines("etcd")
    return next(name for name in members if name != leader(environment, members))


def _named(certificates: CertificateParts) -> str:
    return ", ".join(f"{machine}: {' and '.join(parts)}" for machine, parts in certificates.items())


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="certificates-near-end",
        summary="certificates of a follower and of an API server end soon, and are renewed",
        goal_s=1.0,
        fault=near_end,
    ),
    Drill(
        name="member-certificate-ended",
        summary="a follower's certificates have ended, it starts again, and they are renewed",
        goal_s=1.0,
        fault=member_ended,
    ),
    Drill(
        name="server-certificate-ended",
        summary="an API server's serving certificate has ended, and is renewed",
        goal_s=5.0,
        fault=server_ended,
    ),
    Drill(
        name="server-client-certificate-ended",
        summary="an API server that etcd does not know any more starts again, and its certificate is renewed",
        goal_s=5.0,
        fault=server_client_ended,
    ),
)
