"""Find this node's place, and write the values that its programs need at their start: the Node's name and address, the
provider id, and the pods' network.

The program waits until the place is known, because a cloud may add a machine's pod addresses a moment after its start.
All values are read again at each boot, because a machine that is stopped and started elsewhere keeps only its name.
"""

from __future__ import annotations

import json
import os
import sys
import time
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from machine.metadata import NotYetError, PlaceError, find

from contract.documents import image_manifest
from contract.documents.node import Worker
from contract.documents.node_place import NodePlace
from contract.labels import IMAGE_LABEL, ZONE_LABEL

RESOLVED = Path("/run/systemd/resolve/resolv.conf")
"""File with the DNS servers that systemd-resolved uses. Pods cannot reach systemd-resolved itself."""

FIRST_RETRY_S = 0.1
LAST_RETRY_S = 2.0


def documents(worker: Worker, place: NodePlace, *, resolver: Path | None, image: str = "") -> dict[str, str]:
    """Return the content of every file, by path. ``resolver`` is the kubelet's file with DNS servers, or None for
    /etc/resolv.conf. ``image`` is the version of the machine's image; empty for a machine without an image, such as a
    host."""
    labels = {**worker.labels, ZONE_LABEL: place.zone, **({IMAGE_LABEL: image} if image else {})}
    environment = {
        "NODE_NAME": place.name,
        "NODE_ADDRESS": str(place.address),
        "NODE_LABELS": ",".join(f"{key}={value}" for key, value in labels.items()),
    }
    kubelet: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "providerID": place.provider_id,
        **({"resolvConf": str(resolver)} if resolver else {}),
    }
    return {
        "/run/longhaul/node.env": "".join(f"{key}={value}\n" for key, value in environment.items()),
        "/etc/longhaul/kubelet.conf.d/10-place.conf": json.dumps(kubelet) + "\n",
        "/run/longhaul/cni/10-longhaul.conflist": json.dumps(network(worker, place)) + "\n",
    }


def network(worker: Worker, place: NodePlace) -> dict[str, Any]:
    """Return the pods' network: a link between pod and host, an address from the node's own ranges, and no address
    translation.

    The subnet is the whole supernet, and the gateway is the node's address. So pods can have all addresses of the
    ranges, and packets from the node itself (probes) have the node's address. Leases of addresses end with the machine,
    as pods do, so none remains after a power cut.
    """
    ranges = [
        {
            "subnet": worker.supernet,
            "rangeStart": str(range_.network_address),
            "rangeEnd": str(range_.broadcast_address),
            "gateway": str(place.address),
        }
        for range_ in place.pods
    ]
    link = {
        "type": "ptp",
        "mtu": worker.pod_mtu,
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "dataDir": "/run/longhaul/cni-leases",
            "ranges": [ranges],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "longhaul", "plugins": [link, ports]}


def check(worker: Worker, place: NodePlace) -> None:
    """Raise ``PlaceError`` if an address of the place is not in the environment's supernet."""
    supernet = IPv4Network(worker.supernet)
    outside = [str(range_) for range_ in place.pods if not range_.subnet_of(supernet)]
    if place.address not in supernet or outside:
        strange = ", ".join([str(place.address), *outside])
        raise PlaceError(f"{strange}: not in {supernet}, where every address of this environment is")


def wait(worker: Worker) -> NodePlace:
    """Wait until the place is known, and return it. Raise ``PlaceError`` if it is wrong. Print each new reason for
    waiting once."""
    reported, pause = "", FIRST_RETRY_S
    while True:
        try:
            return find(worker.kind)
        except NotYetError as error:
            if str(error) != reported:
                reported = str(error)
                print(f"not yet: {reported}", file=sys.stderr, flush=True)
        time.sleep(pause)
        pause = min(pause * 2, LAST_RETRY_S)


def image_version(path: Path = image_manifest.PATH) -> str:
    """Return the version of the machine's image; empty for a machine without an image."""
    try:
        return image_manifest.version_of(path.read_text())
    except FileNotFoundError:
        return ""


def write(path: Path, content: str, *, mode: int = 0o644) -> None:
    """Replace a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(content)
    new.chmod(mode)
    os.replace(new, path)


def main() -> int:
    """Return 0 once all values are written, or 1 if the place is wrong."""
    worker = Worker.read()
    try:
        place = wait(worker)
        check(worker, place)
    except PlaceError as error:
        print(error, file=sys.stderr)
        return 1
    resolver = RESOLVED if RESOLVED.exists() else None
    for path, content in documents(worker, place, resolver=resolver, image=image_version()).items():
        write(Path(path), content)
    print(f"{place.name} at {place.address} in {place.zone}; pods: {', '.join(map(str, place.pods))}")
    return 0
