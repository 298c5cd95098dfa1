#!/usr/bin/env python3
"""longhaul-node: what this machine says of itself, as one JSON object on standard output.

``ready``: exit code 0 only when the machine does its work. ``status``: the same object, exit code 0 in any case.
``cluster --without NAME``: whether the store of this member keeps its quorum when NAME goes; exit code 0 only when it
does.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

import api_checks
import store_checks
from checks import Check
from etcd_client import Etcdctl
from node_config import PKI, Node


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is printed."""

    machine: str
    role: str
    ready: bool
    checks: tuple[Check, ...]
    cluster: str = ""
    """A member's cluster: its id in hexadecimal."""
    members: tuple[store_checks.MemberReport, ...] = ()


def report(node: Node) -> Report:
    """Look at everything this machine is for."""
    cluster = ""
    members: tuple[store_checks.MemberReport, ...] = ()
    if node.role == "api":
        checks = api_checks.checks(node, pki=PKI)
    else:
        etcdctl = member_etcdctl()
        checks = store_checks.checks(node, etcdctl)
        cluster, members = store_checks.members(node, etcdctl)
    return Report(
        machine=node.machine,
        role=node.role,
        ready=all(check.ok for check in checks),
        checks=checks,
        cluster=cluster,
        members=members,
    )


def member_etcdctl() -> Etcdctl:
    """etcdctl with a member's own client certificate."""
    return Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt")


def _print(value: Any) -> None:
    print(json.dumps(asdict(value)))


def main() -> int:
    """The command's exit code."""
    parser = argparse.ArgumentParser(prog="longhaul-node", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("ready", help="exit 0 only when the machine does its work")
    commands.add_parser("status", help="the same, exit 0 in any case")
    cluster = commands.add_parser("cluster", help="whether the quorum survives the loss of a member")
    cluster.add_argument("--without", required=True, metavar="NAME")
    arguments = parser.parse_args()
    node = Node.read()
    if arguments.command == "cluster":
        if node.role == "api":
            parser.error(f"{node.machine} is no etcd member: ask one")
        survival = store_checks.survival(node, member_etcdctl(), without=arguments.without)
        _print(survival)
        return 0 if survival.survives else 1
    found = report(node)
    _print(found)
    return 0 if found.ready or arguments.command == "status" else 1


if __name__ == "__main__":
    sys.exit(main())
