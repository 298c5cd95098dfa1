"""Make this node trust the authorities that the cluster publishes for its API servers, and report the trusted
authorities.

kube-controller-manager publishes the authorities in each namespace as ``kube-root-ca.crt``. A node reads this ConfigMap
over a connection that it trusts, so it gets new authorities only from an API server that it trusts already. While an
authority is replaced there are two authorities (docs/rotation.md), and the rotation waits for each node's report, which
is an annotation of the Node.

The kubelet reads the file of authorities only once for its own connections (kubernetes 1.36,
``pkg/kubelet/certificate/transport.go``). So the kubelet is restarted, which its pods do not notice. kube-proxy reads a
changed file by itself (client-go 0.36, ``transport/ca_rotation.go``), and so does the kubelet's check of its clients.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from credentials.digests import certificates, digests
from gpu.names import BOOT_ID
from node import checks as worker_checks

from contract.annotations import AUTHORITIES, AUTHORITIES_BOOT
from contract.documents.node import Worker
from contract.kubernetes.api import METADATA
from contract.kubernetes.connection import ApiError
from contract.kubernetes.machine import MachineApi
from contract.object_names import AUTHORITIES_CONFIGMAP, AUTHORITIES_KEY, SYSTEM_CONFIGMAPS
from contract.units import KUBELET

PUBLISHED = f"{SYSTEM_CONFIGMAPS}/{AUTHORITIES_CONFIGMAP}"
AGENT = "longhaul-node-authorities"
CACHED = {"resourceVersion": "0"}
"""Query that the API servers answer from memory (kubernetes.io, "API Concepts": any version)."""


@dataclass(frozen=True, kw_only=True)
class Authorities:
    """Authorities of API servers on this node."""

    api: MachineApi
    node: str
    used: Path = Path("/run/longhaul-kubelet/kubernetes-ca.crt")
    """Copy of the file that the kubelet's unit makes at its start."""
    boot: Path = Path(BOOT_ID)

    def follow(self) -> None:
        """Trust the published authorities, and report the trusted authorities. Raise ``ApiError``, ``OSError`` or
        ``ValueError`` if that fails."""
        self._take_over(str((self.api.get(PUBLISHED, **CACHED).get("data") or {}).get(AUTHORITIES_KEY) or ""))
        if not self._is_used():
            # A kubelet that somebody stopped stays stopped.
            subprocess.run(["systemctl", "try-restart", KUBELET], check=False)
        if self._is_used():
            self._tell()

    def _take_over(self, published: str) -> None:
        """Replace the file by the published authorities, if they differ. Raise ``ApiError``, and keep the file, if an
        API server's certificate is not valid with the new authorities."""
        file = self.api.authority
        if digests(published) == digests(file.read_text()):
            return
        # Only the certificates, which the digests cover.
        text = certificates(published)
        new = file.with_name(f".{file.name}.new")
        # In the form that user-data and `longhaul hosts` write, so that these find nothing to change.
        with new.open("w") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
        new.chmod(0o444)
        try:
            MachineApi(self.api.url, authority=new, certificate=self.api.certificate, agent=AGENT).get(
                PUBLISHED, **CACHED
            )
            os.replace(new, file)
        finally:
            new.unlink(missing_ok=True)
        print(f"{file}: {', '.join(digests(published))}", flush=True)

    def _is_used(self) -> bool:
        """Return whether the kubelet was started with the present content of the file."""
        try:
            return self.used.read_bytes() == self.api.authority.read_bytes()
        except FileNotFoundError:
            return False

    def _tell(self) -> None:
        path = f"/api/v1/nodes/{self.node}"
        node_annotations = {
            AUTHORITIES: ",".join(digests(self.api.authority.read_text())),
            AUTHORITIES_BOOT: self.boot.read_text().strip(),
        }
        metadata = self.api.get(path, accept=METADATA, **CACHED)["metadata"]
        if not node_annotations.items() <= (metadata.get("annotations") or {}).items():
            self.api.patch(path, {"metadata": {"annotations": node_annotations}})


def main() -> int:
    """Run once, and return 0, also after a failure: the trusted authorities then stay as they are."""
    paths = worker_checks.WorkerPaths()
    name = worker_checks.name(paths)
    # A node without a place or a certificate has not joined: the kubelet's own start handles that.
    if not name or not paths.certificate.exists():
        return 0
    try:
        url = Worker.read().api
        api = MachineApi(url, authority=paths.authority, certificate=paths.certificate, agent=AGENT)
        Authorities(api=api, node=name).follow()
    except (ApiError, OSError, ValueError) as error:
        print(f"the authorities stay as they are: {error}", file=sys.stderr)
    return 0
