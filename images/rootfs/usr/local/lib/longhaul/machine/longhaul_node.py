"""Print the state of this machine as one JSON object on standard output.

- ``ready``: exit code 0 only if the machine does its work. With ``--wait SECONDS``, wait at most that long for it.
- ``status``: the same object with the etcd cluster's members, the backups, the dates of certificates and the
  credentials. The exit code is always 0.
- ``leave``: take an API server out of the load balancer, once another API server serves there.
- ``backup``: back up the etcd cluster of this member now, unless this member leads. With ``--without-quorum``, on the
  learner, ask no other member.
- ``cluster --without NAME``: whether the etcd cluster of this member keeps its quorum without NAME. The exit code is 0
  only if it does.
- ``remove --member NAME``: remove a member from the etcd cluster for good, before its machine is deleted. With
  ``--if-dead``, remove the member only if it is not healthy.
- ``reclaim``: reclaim space in this member's etcd cluster, whose database has reached its quota. The exit code is 0
  only if every step was done.
- ``encryption``: on an API server, the encryption keys that it uses. With ``--wait SECONDS``, wait until it uses the
  keys of ``--keys``. On a member, the number of objects that each key has encrypted.
- ``credentials``: the digests of the keys and authorities that the machine trusts and signs with. With ``--take-over``,
  first restart programs that use former files: kube-apiserver once another server answers at ``--frontend``, a member
  once the other members are a quorum.
- ``quarantine``: on an API server, the machines that it refuses. With ``--wait SECONDS``, wait until the server uses
  the list with the digest ``--digest``. With ``--end-connections``, restart the server unless it was started after
  the list changed, so that no earlier connection is left.
- ``revoked``: the same for people whose access was revoked. A VPN machine ends these people's sessions first.
- ``issuers``: on an API server, the issuers of the tokens with which people sign in. With ``--wait SECONDS``, wait
  until the server uses the issuers.
- ``restore STEP``: one step of a restore from a backup (restore/steps.py), for ``longhaul restore``.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from dataclasses import replace
from typing import Any

from backup import state as backups
from credentials import dates as certificate_dates
from credentials import inventory as credentials
from etcd import checks as etcd_checks
from etcd import defragmentation
from etcd import remove as etcd_remove
from etcd.client import Etcdctl
from kube_apiserver import checks as api_checks
from kube_apiserver import encryption_keys, issuer_list
from kube_apiserver import leave as api_leave
from node import checks as worker_checks
from quarantine import refusal_lists, refused_names
from restore import steps as etcd_restore
from restore.record import Records
from vpn import checks as vpn_checks

from contract.documents.node import PATH, WORKER, NodeConfig, Worker, role_of
from contract.documents.node_answers import BackupState, MemberReport, NodeReport, to_text
from contract.paths import SSD
from machine.config import PKI, client_url

BACKUP = ("/usr/local/lib/longhaul/longhaul-program", "backup.run")
FOLDERS = {str(backups.FOLDER): "0755", f"{SSD}/backup": "0700"}
"""Folders of backups with their modes, as in longhaul-backup.service."""

RETRY_S = 0.5
"""Seconds between two checks during a wait. No signal shows that an etcd cluster has a leader, or that an API server
has its first informers."""


def role() -> str:
    """Return the machine's role. Raise ``OSError``, ``ValueError`` or ``KeyError`` if the machine has no role yet."""
    return role_of(PATH.read_text())


def worker_report() -> NodeReport:
    """Return the report on all tasks of a worker."""
    paths = worker_checks.WorkerPaths()
    checks = worker_checks.checks(paths, Worker.read())
    return NodeReport(
        machine=worker_checks.name(paths), role=WORKER, ready=all(check.ok for check in checks), checks=checks
    )


def report(node: NodeConfig, *, with_members: bool) -> NodeReport:
    """Return the report on all tasks of a control-plane machine. ``with_members`` adds the members of its etcd cluster,
    its backups, its certificates' dates, its encryption keys, its credentials and the machines that it refuses."""
    cluster = ""
    members: tuple[MemberReport, ...] = ()
    if node.role == "api":
        checks = api_checks.checks(node, pki=PKI)
    elif not node.is_member:
        checks = vpn_checks.checks(node)
    else:
        etcdctl = member_etcdctl()
        cluster, checks = etcd_checks.checks(node, etcdctl)
        if with_members:
            cluster, members = etcd_checks.members(node, etcdctl)
    half_done = Records().under_way()
    return NodeReport(
        machine=node.machine,
        role=node.role,
        ready=all(check.ok for check in checks),
        checks=checks,
        cluster=cluster,
        members=members,
        certificates=certificate_dates.dates(PKI) if with_members else (),
        backup=backups.read() if node.is_member and with_members else None,
        encryption=encryption_keys.server_keys(node, pki=PKI) if node.role == "api" and with_members else None,
        credentials=credentials.machine_credentials(node, pki=PKI) if with_members else None,
        quarantine=refusal_lists.refused(node, pki=PKI) if node.role == "api" and with_members else None,
        restore=half_done.backup if half_done else "",
    )


def await_ready(*, worker: bool, wait_s: float) -> NodeReport:
    """Return the report once the machine is ready or a final check has failed, or the last report after ``wait_s``
    seconds."""
    deadline = time.monotonic() + wait_s
    while True:
        latest = worker_report() if worker else report(NodeConfig.read(), with_members=False)
        hopeless = any(check.final and not check.ok for check in latest.checks)
        if latest.ready or hopeless or time.monotonic() + RETRY_S > deadline:
            return latest
        time.sleep(RETRY_S)


def member_etcdctl() -> Etcdctl:
    """Return etcdctl with a member's own client certificate."""
    return Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt")


def _backup(*options: str) -> int:
    """Make a backup as etcd's user, like longhaul-backup.service, and print the state of the backups afterwards."""
    if Records().under_way() is not None:
        error = "a restore is half done here: no backup is made before it is finished"
        _print(BackupState(declared=True, looked=0.0, error=error))
        return 1
    for folder, mode in FOLDERS.items():
        # As longhaul-backup.service does, which may not have run yet.
        subprocess.run(["install", "-d", "-o", "etcd", "-g", "etcd", "-m", mode, folder], check=True)
    command = ["runuser", "-u", "etcd", "--", *BACKUP, "--now", *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    words = done.stderr.strip().splitlines() or [f"{BACKUP[-1]} ended with {done.returncode}"]
    state = backups.read() or BackupState(declared=True, looked=0.0)
    _print(replace(state, error=words[-1] if done.returncode else ""))
    return done.returncode


def _print(value: Any) -> None:
    print(to_text(value))


def _of_backups(arguments: argparse.Namespace) -> int:
    """Make a backup, or do one step of a restore."""
    if arguments.command == "restore":
        return etcd_restore.main(arguments.words)
    return _backup(*(["--without-quorum"] if arguments.without_quorum else []))


def _of_cluster(node: NodeConfig, arguments: argparse.Namespace) -> int:
    """Run a command about a member's etcd cluster."""
    if arguments.command == "reclaim":
        reclaimed = defragmentation.reclaim(node, member_etcdctl())
        _print(reclaimed)
        return 0 if reclaimed.done else 1
    if arguments.command == "remove":
        removal = etcd_remove.remove(node, member_etcdctl(), name=arguments.member, if_dead=arguments.if_dead)
        _print(removal)
        return 0 if removal.removed else 1
    survival = etcd_checks.survival(node, member_etcdctl(), without=arguments.without)
    _print(survival)
    return 0 if survival.survives else 1


def _encryption(node: NodeConfig, arguments: argparse.Namespace) -> int:
    """Print an API server's encryption keys, or the number of objects in a member's etcd cluster that each key has
    encrypted."""
    if node.role == "api":
        wanted = tuple(arguments.keys.split(","))
        _print(encryption_keys.await_held(node, pki=PKI, wanted=wanted, wait_s=arguments.wait))
    else:
        _print(encryption_keys.count_objects(client_url(node.address), member_etcdctl()))
    return 0


def _credentials(node: NodeConfig, arguments: argparse.Namespace) -> int:
    """Print the digests of the keys and authorities that a control-plane machine trusts and signs with."""
    if arguments.take_over:
        etcdctl = member_etcdctl() if node.is_member else None
        _print(credentials.take_over(node, frontend=arguments.frontend, pki=PKI, etcdctl=etcdctl))
    else:
        _print(credentials.machine_credentials(node, pki=PKI))
    return 0


def _of_server(node: NodeConfig, arguments: argparse.Namespace) -> int:
    """Take an API server out of the load balancer, or print the clients that it refuses or the issuers of its users'
    tokens."""
    if arguments.command == "leave":
        departure = api_leave.leave(node, frontend=arguments.frontend, pki=PKI)
        _print(departure)
        return 0 if departure.left else 1
    if arguments.command == "issuers":
        _print(issuer_list.await_issuers(node, pki=PKI, wait_s=arguments.wait))
        return 0
    if node.role != "api":
        _print(vpn_checks.await_refused(wanted=arguments.digest, wait_s=arguments.wait))
        return 0
    path = refused_names.PEOPLE if arguments.command == "revoked" else refused_names.LIST
    if arguments.end_connections:
        clients = refusal_lists.end_connections(node, pki=PKI, path=path)
    else:
        clients = refusal_lists.await_refused(node, pki=PKI, wanted=arguments.digest, wait_s=arguments.wait, path=path)
    _print(clients)
    return 0


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="longhaul-node", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    ready = commands.add_parser("ready", help="exit 0 only if the machine does its work")
    ready.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="how long to wait until it does")
    commands.add_parser("status", help="the same, exit 0 in any case")
    cluster = commands.add_parser("cluster", help="whether the quorum survives the loss of a member")
    cluster.add_argument("--without", required=True, metavar="NAME")
    leave = commands.add_parser("leave", help="leave the load balancer once another API server serves there")
    leave.add_argument("--frontend", required=True, metavar="ADDRESS:PORT")
    remove = commands.add_parser("remove", help="take a member out of the etcd cluster for good")
    remove.add_argument("--member", required=True, metavar="NAME")
    remove.add_argument("--if-dead", action="store_true", help="only if it is not healthy")
    backup = commands.add_parser("backup", help="back the etcd cluster up now, on a member that may")
    backup.add_argument("--without-quorum", action="store_true", help="on the learner: ask no other member")
    commands.add_parser("reclaim", help="compact and defragment the etcd cluster, and lift its alarms")
    encryption = commands.add_parser("encryption", help="print encryption keys, or counts of their objects")
    encryption.add_argument("--keys", default="", metavar="NAME,…", help="on an API server: the keys to wait for")
    encryption.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="how long to wait for them")
    certificates = commands.add_parser("credentials", help="print which keys and authorities are in use")
    certificates.add_argument("--take-over", action="store_true", help="first restart programs with former files")
    certificates.add_argument("--frontend", default="", metavar="ADDRESS:PORT", help="where other API servers answer")
    for command, whom in (("quarantine", "machines"), ("revoked", "people")):
        refused = commands.add_parser(command, help=f"print the {whom} that this machine refuses")
        refused.add_argument("--digest", default="", metavar="SHA256", help="digest of the list to wait for")
        refused.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="how long to wait for it")
        refused.add_argument("--end-connections", action="store_true", help="restart kube-apiserver, if needed")
    issuers = commands.add_parser("issuers", help="print the issuers of people's tokens")
    issuers.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="how long to wait for the server")
    restoring = commands.add_parser("restore", help="do one step of a restore", add_help=False)
    restoring.add_argument("words", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    worker = role() == WORKER
    if arguments.command in ("leave", "quarantine", "revoked", "issuers"):
        roles = ("api", "vpn") if arguments.command == "revoked" else ("api",)
        if worker or (node := NodeConfig.read()).role not in roles:
            parser.error("this machine is no API server")
        return _of_server(node, arguments)
    if arguments.command in ("backup", "restore"):
        if (
            worker
            or (config := NodeConfig.read()).role == "vpn"
            or (arguments.command == "backup" and config.role == "api")
        ):
            parser.error("this machine has no part in that")
        return _of_backups(arguments)
    told_apart = role() not in (WORKER, "vpn") if arguments.command == "encryption" else not worker
    if arguments.command in ("encryption", "credentials") and told_apart:
        handler = _encryption if arguments.command == "encryption" else _credentials
        return handler(NodeConfig.read(), arguments)
    if arguments.command in ("cluster", "remove", "reclaim", "encryption", "credentials"):
        if worker or not (node := NodeConfig.read()).is_member:
            parser.error("this machine is no etcd member: ask one")
        return _of_cluster(node, arguments)
    if arguments.command == "status":
        _print(worker_report() if worker else report(NodeConfig.read(), with_members=True))
        return 0
    readiness = await_ready(worker=worker, wait_s=arguments.wait)
    _print(readiness)
    return 0 if readiness.ready else 1
