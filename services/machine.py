"""Machine of an API server, on which services run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from contract import paths
from contract.documents import node as node_document
from contract.kubernetes.connection import TIMEOUT_S
from contract.kubernetes.machine import MachineApi
from contract.paths import KUBERNETES_AUTHORITIES

NODE = node_document.PATH
PKI = Path(paths.PKI)


@dataclass(frozen=True, kw_only=True)
class ServiceMachine:
    """This machine's name, the port of its API server, and the folder of its certificates."""

    name: str
    port: int
    """Port of kube-apiserver."""
    pki: Path = PKI

    @classmethod
    def read(cls, node: Path, pki: Path) -> ServiceMachine:
        """Read the machine's description in the file ``node``."""
        description = json.loads(node.read_text(encoding="utf-8"))
        return cls(name=str(description["machine"]), port=int(description["port"]), pki=pki)

    def api(self, program: str, *, timeout_s: float = TIMEOUT_S) -> MachineApi:
        """Return a client of this machine's own API server with the certificate of ``program``."""
        return MachineApi(
            f"https://127.0.0.1:{self.port}",
            authority=self.pki / KUBERNETES_AUTHORITIES,
            certificate=self.pki / f"{program}.pem",
            agent=f"longhaul-{program}",
            timeout_s=timeout_s,
        )
