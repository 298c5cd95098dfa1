"""Health checks of a VPN machine, and the people whom it refuses."""

from __future__ import annotations

from pathlib import Path

from kube_apiserver.checks import health, unverified
from machine.polling import poll_until
from quarantine import refusal_lists, refused_names

from contract.documents.node import NodeConfig
from contract.documents.node_answers import MachineCheck
from contract.documents.refusals import RefusedClients, digest_of
from contract.ports import KUBE_PROXY_HEALTH_PORT
from vpn.sessions import SOCKET, end_sessions, sessions

KUBE_PROXY = f"http://127.0.0.1:{KUBE_PROXY_HEALTH_PORT}/livez"
"""kube-proxy's health path that does not depend on a Node (kubernetes 1.36, pkg/proxy/healthcheck), because this
machine has no Node."""


def checks(node: NodeConfig, *, management: Path = SOCKET) -> tuple[MachineCheck, ...]:
    """Return the checks of OpenVPN, the sign-in endpoint and kube-proxy."""
    return (
        _openvpn(management),
        # Not verified: the certificate does not name the loopback address.
        health("sign-in", f"https://127.0.0.1:{node.sign_in_port}/healthz", unverified()),
        health("kube-proxy", KUBE_PROXY, unverified()),
    )


def _openvpn(management: Path) -> MachineCheck:
    try:
        return MachineCheck(name="openvpn", ok=True, detail=f"{len(sessions(management))} laptops")
    except OSError as error:
        return MachineCheck(name="openvpn", ok=False, detail=f"{management}: {error}")


def refused(*, path: Path = refused_names.PEOPLE, management: Path = SOCKET) -> RefusedClients:
    """End the sessions of people whose access was revoked, and return the digest of their names. These people get no
    new session, because OpenVPN asks vpn/verify.py, which reads the same file."""
    people: tuple[str, ...] = ()
    try:
        people = refused_names.names(path)
        end_sessions(people, management)
    except (OSError, ValueError) as error:
        message = f"it is not known who is connected: {error}"
        return RefusedClients(names=(), digest=digest_of(people), loaded=False, error=message)
    return RefusedClients(names=(), digest=digest_of(people), loaded=True, ended=True)


def await_refused(*, wanted: str, wait_s: float) -> RefusedClients:
    """Call :func:`refused` until the sessions of the people on the list with the digest ``wanted`` have ended, at most
    ``wait_s`` seconds, and return the last answer. If the file has another list, return at once."""
    return poll_until(
        refused,
        lambda answer: answer.loaded or bool(wanted and answer.digest != wanted),
        wait_s=wait_s,
        pause_s=refusal_lists.RETRY_S,
    )
