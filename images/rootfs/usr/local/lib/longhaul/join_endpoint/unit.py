"""Program of the join endpoint, which runs on every API server machine and serves cloud machines without a certificate.

The endpoint identifies a machine by a proof. On Azure, the cloud has signed the proof. On AWS, the machine has signed a
``GetCallerIdentity`` request, and STS returns the signer. The endpoint then makes a certificate request in the
machine's name, and the node controller decides on the request.
"""

from __future__ import annotations

import socket
from pathlib import Path

from contract.documents.node import NodeConfig
from contract.kubernetes.events import Events
from contract.kubernetes.machine import MachineApi
from contract.paths import KUBERNETES_AUTHORITIES
from contract.quarantine_list import QuarantineList
from join_endpoint.aws import AwsProofs
from join_endpoint.azure import AzureProofs
from join_endpoint.command_line import run
from join_endpoint.https_listener import Server
from join_endpoint.join_requests import COMPONENT, JoinEndpoint


def make_server(node: NodeConfig, pki: Path, address: str) -> Server[JoinEndpoint]:
    """Return the endpoint's server, which listens at ``address``. ``pki`` is the folder of the machine's
    certificates."""
    certificate = pki / "join.pem"
    authority = pki / KUBERNETES_AUTHORITIES
    url = f"https://127.0.0.1:{node.port}"
    api = MachineApi(url, authority=authority, certificate=certificate, agent="longhaul-join")
    endpoint = JoinEndpoint(
        api,
        verifiers={"aws": AwsProofs(), "azure": AzureProofs()},
        events=Events(api, instance=node.machine, component=COMPONENT),
        quarantined=QuarantineList(),
    )
    return Server((address, node.join_port), endpoint, certificate=certificate, healthy=lambda: _there(node.port))


def _there(port: int) -> bool:
    """Return whether this machine's API server accepts connections. Without an API server, machines must use another
    machine's endpoint."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False


def main() -> int:
    """Serve until SIGTERM, and return the exit code."""
    return run(__doc__, make_server)
