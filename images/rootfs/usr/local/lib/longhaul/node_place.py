#!/usr/bin/env python3
"""Learn where this node stands and write what its programs start with: the kubelet's name and address, its provider id,
the pods' network.

Waits as long as it takes: a cloud may add a machine's pod addresses a moment after its start. Everything is learnt anew
at each boot, since nothing of it is kept by a machine that is stopped and started elsewhere but its name.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, fields
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from node_metadata import NotYetError, Place, PlaceError, find

NODE = Path("/etc/longhaul/node.json")
RESOLVED = Path("/run/systemd/resolve/resolv.conf")
"""The servers behind systemd-resolved's own, which pods do not reach."""

IMAGE = Path("/usr/share/longhaul/image.json")
"""What image_manifest.py wrote when the machine's image was baked."""
IMAGE_LABEL = "longhaul.dev/image"

FIRST_RETRY_S = 0.1
LAST_RETRY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Worker:
    """/etc/longhaul/node.json of a worker."""

    role: str
    kind: str
    """``aws``, ``azure`` or ``onprem``."""
    version: str
    """Version of Kubernetes that its image must hold."""
    api: str
    """Where it reaches the API servers."""
    labels: dict[str, str]
    supernet: str
    pod_mtu: int

    @classmethod
    def read(cls, path: Path = NODE) -> Worker:
        """Read the file; ``OSError``, ``ValueError``, ``TypeError`` or ``AttributeError`` when it is not one. It says
        more, to other programs; and an image may be older than what wrote the file."""
        raw = json.loads(path.read_text())
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in raw.items() if name in known})


def documents(worker: Worker, place: Place, *, resolver: Path | None, image: str = "") -> dict[str, str]:
    """Every file by its path. ``resolver``: what the kubelet reads servers from, where it is not /etc/resolv.conf.
    ``image``: version of the image that the machine is of, empty where it is of none, as a rack host."""
    labels = {**worker.labels, "topology.kubernetes.io/zone": place.zone, **({IMAGE_LABEL: image} if image else {})}
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


def network(worker: Worker, place: Place) -> dict[str, Any]:
    """The pods' network: a link between pod and host, an address of the node's own ranges, no address rewritten.

    The subnet is the whole supernet and the gateway the node's address: so every address of the ranges can be a pod's,
    and what comes from the node itself (probes) has the node's address. Leases live as long as the machine is up, as
    pods do: after a power cut none is left behind."""
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


def check(worker: Worker, place: Place) -> None:
    """``PlaceError`` when the addresses are not the environment's."""
    supernet = IPv4Network(worker.supernet)
    outside = [str(range_) for range_ in place.pods if not range_.subnet_of(supernet)]
    if place.address not in supernet or outside:
        strange = ", ".join([str(place.address), *outside])
        raise PlaceError(f"{strange}: not in {supernet}, where every address of this environment is")


def wait(worker: Worker) -> Place:
    """The place, asked for until it is known; ``PlaceError`` when it is wrong. Says each new reason once."""
    said, pause = "", FIRST_RETRY_S
    while True:
        try:
            return find(worker.kind)
        except NotYetError as error:
            if str(error) != said:
                said = str(error)
                print(f"not yet: {said}", file=sys.stderr, flush=True)
        time.sleep(pause)
        pause = min(pause * 2, LAST_RETRY_S)


def image_version(path: Path = IMAGE) -> str:
    """Version of the machine's image; empty where it is of none."""
    try:
        return str(json.loads(path.read_text())["version"])
    except FileNotFoundError:
        return ""


def write(path: Path, content: str) -> None:
    """Replace a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(content)
    os.replace(new, path)


def main() -> int:
    """0 once everything is written."""
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


if __name__ == "__main__":
    sys.exit(main())
