"""Place of this machine, from its cloud's metadata service or its host's file."""

from __future__ import annotations

import http
import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, summarize_address_range
from pathlib import Path

from contract.documents import node_place
from contract.documents.node_place import NodePlace
from contract.json_object import json_object

METADATA = "http://169.254.169.254"
HOST_PLACE = Path(node_place.PATH)
TIMEOUT_S = 2.0
TOKEN_LIFE_S = 300
AZURE_VERSION = "2021-02-01"
"""Newest API version that every region has (learn.microsoft.com, "Azure Instance Metadata Service for virtual
machines")."""


class NotYetError(Exception):
    """Raised if the metadata service does not answer yet, or the place is not known yet. A later attempt may
    succeed."""


class NotThereError(NotYetError):
    """Raised if the metadata service has no such document."""


class PlaceError(Exception):
    """Raised if the place is wrong. A later attempt will fail too."""


def find(kind: str, *, metadata: str = METADATA, host_place: Path = HOST_PLACE) -> NodePlace:
    """Return the place of this machine, on a site of ``kind``. Raise ``NotYetError`` if the place is not known yet, and
    ``PlaceError`` if it is wrong."""
    ways: dict[str, Callable[[], NodePlace]] = {
        "aws": lambda: aws(metadata),
        "azure": lambda: azure(metadata, address=own_address()),
        "onprem": lambda: host(host_place, address=own_address()),
    }
    if kind not in ways:
        raise PlaceError(f"node.json: a site of kind {kind!r} is not known to this image")
    return ways[kind]()


def aws(metadata: str) -> NodePlace:
    """Return the place of an EC2 instance. Its pods get the prefixes of its first interface, which EC2 adds a moment
    after the instance's start (docs.aws.amazon.com, "Instance metadata categories")."""
    life = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_LIFE_S)}
    token = ask(f"{metadata}/latest/api/token", headers=life, method="PUT")

    def tell(path: str) -> str:
        return ask(f"{metadata}/latest/meta-data/{path}", headers={"X-aws-ec2-metadata-token": token}).strip()

    instance, zone = tell("instance-id"), tell("placement/availability-zone")
    prefixes = tell(f"network/interfaces/macs/{tell('mac')}/ipv4-prefix")
    if not prefixes:
        raise NotYetError("the interface has no prefix")
    address = tell("local-ipv4")
    try:
        return NodePlace(
            name=instance,
            address=IPv4Address(address),
            provider_id=f"aws:///{zone}/{instance}",
            zone=zone,
            pods=tuple(sorted(map(IPv4Network, prefixes.split()))),
        )
    except ValueError as error:
        raise NotYetError(f"the metadata service's answer is no address: {error}") from None


def azure(metadata: str, *, address: IPv4Address) -> NodePlace:
    """Return the place of a machine of a scale set. Its pods get the addresses of its interfaces except ``address``,
    which is the machine's own."""
    text = ask(f"{metadata}/metadata/instance?api-version={AZURE_VERSION}", headers={"Metadata": "true"})
    try:
        document = json_object(text)
        compute, interfaces = document["compute"], document["network"]["interface"]
        addresses = {
            IPv4Address(entry["privateIpAddress"])
            for interface in interfaces
            for entry in interface["ipv4"]["ipAddress"]
        }
        # Names of Nodes are in lower case; the suffix that Azure gives is not.
        name, resource = compute["osProfile"]["computerName"].lower(), compute["resourceId"]
        region, zone = compute["location"], compute["zone"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotYetError(f"the metadata service's answer is incomplete: {error!r}") from None
    pods = addresses - {address}
    if address not in addresses or not pods:
        raise NotYetError(f"the metadata service knows of {len(addresses)} addresses, the pods' are not among them")
    return NodePlace(
        name=name,
        address=address,
        provider_id=f"azure://{resource}",
        zone=f"{region}-{zone}" if zone else region,
        pods=tuple(_ranges(pods)),
    )


def host(path: Path, *, address: IPv4Address) -> NodePlace:
    """Return the place of a host from its file. Raise ``PlaceError`` if the file is malformed or has another
    address."""
    try:
        place = node_place.of_text(path.read_text())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlaceError(f"{path}: {error!r}: run playbooks/site.yml for this host again") from None
    if place.address != address:
        wrong = f"{path} is of {place.name} at {place.address}, this machine's address is {address}"
        raise PlaceError(f"{wrong}: correct the address here, or the host's place in the hosts file")
    return place


def own_address() -> IPv4Address:
    """Return the address from which this machine sends. Raise ``NotYetError`` while the machine has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing, only looks up the route. The address is reserved for documentation (RFC 5737).
            probe.connect(("192.0.2.1", 9))
        except OSError as error:
            raise NotYetError(f"this machine has no way out yet: {error}") from None
        return IPv4Address(probe.getsockname()[0])


def _ranges(addresses: Iterable[IPv4Address]) -> list[IPv4Network]:
    """Return the fewest ranges that contain exactly these addresses."""
    ranges: list[IPv4Network] = []
    ordered = sorted(addresses)
    start = 0
    for index, address in enumerate(ordered):
        if index + 1 == len(ordered) or int(ordered[index + 1]) != int(address) + 1:
            ranges += summarize_address_range(ordered[start], address)
            start = index + 1
    return ranges


def ask(
    url: str, *, headers: dict[str, str], method: str = "GET", body: str | None = None, timeout_s: float = TIMEOUT_S
) -> str:
    """Return the metadata service's answer. Raise ``NotThereError`` for status 404, and ``NotYetError`` for any other
    error or without an answer within ``timeout_s`` seconds."""
    # No proxy: the metadata service must be asked directly.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = None if body is None else body.encode()
    request = urllib.request.Request(url, data, headers=headers, method=method)  # noqa: S310  (one fixed address)
    try:
        with opener.open(request, timeout=timeout_s) as response:
            return str(response.read().decode())
    except urllib.error.HTTPError as error:
        kind = NotThereError if error.code == http.HTTPStatus.NOT_FOUND else NotYetError
        raise kind(f"{url}: {error.code} {_reason(error)}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotYetError(f"{url}: {error}") from None


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the text of a refusal, as far as it arrived."""
    try:
        return " ".join(error.read(400).decode(errors="replace").split())
    except (OSError, http.client.HTTPException) as broken:
        return type(broken).__name__
