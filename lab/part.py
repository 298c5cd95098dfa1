"""One environment's part of a lab that several are in."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any


def part_of(report: Mapping[str, Any], supernet: IPv4Network) -> dict[str, Any]:
    """Of what the daemon reports of a lab, the part of the environment whose whole private range is ``supernet``: the
    ranges of two in a lab are disjoint. Left out are what is in no network any more, as a machine that is being
    removed, and a load balancer as long as it has no backend."""
    networks = [one for one in report["networks"] if IPv4Network(one["ranges"][0]).subnet_of(supernet)]
    ids = {one["id"] for one in networks}
    gateways = [one for one in report["gateways"] if one["network"] in ids]
    names = {one["name"] for one in gateways}
    return {
        **report,
        "networks": networks,
        "machines": [one for one in report["machines"] if one["network"] in ids],
        "load_balancers": {
            name: verdicts
            for name, verdicts in report["load_balancers"].items()
            if any(IPv4Address(backend) in supernet for backend in verdicts)
        },
        "gateways": gateways,
        "cuts": [one for one in report["cuts"] if names & set(one.split("/"))],
    }
