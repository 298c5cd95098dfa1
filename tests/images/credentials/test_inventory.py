"""Credentials that a machine believes and signs with, and programs that start with others."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from credentials import inventory as credentials
from etcd.client import Etcdctl
from kube_apiserver import leave as api_leave

from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys
from contract.documents.node import NodeConfig
from contract.documents.node_answers import Departure, MachineCheck, MachineCredentials, Survival
from contract.paths import KUBERNETES_AUTHORITIES
from contract.units import CONTROLLER_MANAGER, ETCD, KUBE_APISERVER
from longhaul.rotate.servers import digests

FRONTEND = "10.0.3.5:6443"
NODE = NodeConfig(machine="e-api-0", role="api", index=0, address="10.0.3.10", version="1.2.3", stores={}, port=6443)
MEMBER = NodeConfig(machine="e-etcd-0", role="etcd", index=0, address="10.0.1.10", version="3.6.0", stores={"etcd": {}})
ETCDCTL = Etcdctl(certificate=Path("client.pem"), authority=Path("etcd-ca.crt"))


class Machine:
    """A machine with keys, and systemd, which copies them when it starts a unit."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pki, self.asked, self.fails = folder / "pki", list[tuple[str, ...]](), ""
        self.copies = {unit: folder / unit for unit in credentials.COPIES}
        self.departure = Departure(left=True, reason="another answers")
        for path in (self.pki, *self.copies.values()):
            path.mkdir()
        monkeypatch.setattr(credentials, "COPIES", self.copies)
        monkeypatch.setattr(credentials, "served_certificates", lambda _node, *, pki: {})
        monkeypatch.setattr(credentials.subprocess, "run", self._run)
        monkeypatch.setattr(credentials.api_leave, "leave", self._leave)

    @property
    def keys(self) -> Path:
        return self.pki / credentials.ACCOUNTS

    def _leave(self, node: NodeConfig, *, frontend: str, pki: Path) -> Departure:
        assert (node, frontend, pki) == (NODE, FRONTEND, self.pki)
        self.asked.append(("leave",))
        return self.departure

    def _run(self, words: Sequence[str], **_more: object) -> subprocess.CompletedProcess[str]:
        self.asked.append(tuple(words[1:]))
        if words[1] in ("start", "restart") and (unit := words[2]) in self.copies:
            if self.fails == unit:
                return subprocess.CompletedProcess(words, 1, stdout="", stderr="Job failed.\n")
            for name in credentials.COPIED[unit]:
                (self.copies[unit] / name).write_bytes((self.pki / name).read_bytes())
        return subprocess.CompletedProcess(words, 0, stdout="", stderr="")

    def take_over(self, frontend: str = FRONTEND) -> MachineCredentials:
        return credentials.take_over(NODE, frontend=frontend, pki=self.pki, etcdctl=None)

    @property
    def manager_keys(self) -> Path:
        """Keys that kube-controller-manager was started with."""
        return self.copies[CONTROLLER_MANAGER] / credentials.ACCOUNTS

    def run_member(self) -> None:
        """Have etcd run with other authorities than the machine has."""
        for name in credentials.COPIED[ETCD]:
            (self.copies[ETCD] / name).write_text(authority().certificate)

    def start_member(self) -> MachineCredentials:
        return credentials.take_over(MEMBER, frontend="", pki=self.pki, etcdctl=ETCDCTL)


@pytest.fixture(name="machine")
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path, monkeypatch)
    machine.keys.write_text(SigningKeys.alone(issuing.new_key()).file)
    for name in (credentials.MEMBERS, credentials.CLIENTS, KUBERNETES_AUTHORITIES):
        (machine.pki / name).write_text(authority().certificate)
    machine.manager_keys.write_text("former ones")
    return machine


def authority() -> issuing.Pair:
    return issuing.new_authority(common_name="a", days=1, key=issuing.new_key())


def test_it_tells_what_is_public_by_its_digest(machine: Machine) -> None:
    keys = SigningKeys.alone(issuing.new_key()).trusting(issuing.new_key())
    machine.keys.write_text(keys.file)
    pair = authority()
    (machine.pki / "nodes-authority.pem").write_text(pair.certificate + pair.key)
    (machine.pki / "rotations.json").write_text('{"service-accounts": {"phase": "trust"}}')
    for name in (credentials.MEMBERS, credentials.CLIENTS, KUBERNETES_AUTHORITIES):
        (machine.pki / name).unlink()
    found = credentials.machine_credentials(NODE, pki=machine.pki)
    assert found.files == {
        credentials.ACCOUNTS: digests("".join(keys.verifies)),
        "nodes-authority.pem": digests(pair.certificate),
    }
    assert len(found.files[credentials.ACCOUNTS]) == 2
    assert found.rotations == {"service-accounts": {"phase": "trust"}}
    assert found.unused == (KUBE_APISERVER, CONTROLLER_MANAGER)


def test_programs_start_with_the_keys_once_another_server_answers(machine: Machine) -> None:
    assert machine.take_over().unused == ()
    assert machine.asked == [
        ("leave",),
        ("restart", KUBE_APISERVER),
        ("stop", api_leave.RETURN),
        ("--no-block", "start", "longhaul-api.target"),
        ("restart", CONTROLLER_MANAGER),
    ]
    machine.asked.clear()
    assert machine.take_over().error == ""
    assert machine.asked == [], "nothing is started anew without a reason"


def test_it_stays_where_no_other_server_answers(machine: Machine) -> None:
    machine.departure = Departure(left=False, reason="no other API server answers at 10.0.3.5:6443")
    found = machine.take_over()
    assert (found.error, machine.asked) == ("no other API server answers at 10.0.3.5:6443", [("leave",)])
    assert KUBE_APISERVER in found.unused


def test_the_only_server_starts_anew_at_once(machine: Machine) -> None:
    assert machine.take_over(frontend="").unused == ()
    assert machine.asked == [("restart", KUBE_APISERVER), ("restart", CONTROLLER_MANAGER)]


def test_a_controller_manager_that_is_between_two_starts_is_left_alone(machine: Machine) -> None:
    """It ends by itself where it loses its lease, such as when the only member of etcd starts anew."""
    machine.manager_keys.unlink()
    assert machine.take_over().unused == ()
    assert ("restart", CONTROLLER_MANAGER) not in machine.asked


def test_a_start_that_fails_is_told_and_the_timer_that_starts_it_again_stays(machine: Machine) -> None:
    machine.fails = KUBE_APISERVER
    assert machine.take_over().error == "Job failed."
    assert machine.asked == [("leave",), ("restart", KUBE_APISERVER)]


def test_a_server_starts_anew_with_the_authorities_of_members(machine: Machine) -> None:
    machine.take_over()
    machine.asked.clear()
    (machine.pki / credentials.MEMBERS).write_text(authority().certificate)
    assert credentials.machine_credentials(NODE, pki=machine.pki).unused == (KUBE_APISERVER,)
    assert machine.take_over().unused == ()
    assert ("restart", CONTROLLER_MANAGER) not in machine.asked
    assert ("restart", KUBE_APISERVER) in machine.asked


def test_what_is_published_changes_with_controller_manager_alone(machine: Machine) -> None:
    machine.take_over()
    machine.asked.clear()
    (machine.pki / KUBERNETES_AUTHORITIES).write_text(authority().certificate + authority().certificate)
    assert credentials.machine_credentials(NODE, pki=machine.pki).unused == (CONTROLLER_MANAGER,)
    assert machine.take_over().unused == ()
    assert machine.asked == [("restart", CONTROLLER_MANAGER)]


def survival(*, voters: int, survives: bool, member: bool = True) -> Survival:
    return Survival(
        without="e-etcd-0",
        member=member,
        voters=voters,
        quorum=voters // 2 + 1,
        healthy_without=voters - 1,
        survives=survives,
        reason="1 healthy of 3 voting members remain without e-etcd-0, 2 are needed",
    )


@pytest.fixture(name="etcd")
def _etcd(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def stands(found: Survival, *failing: str) -> None:
        """``failing``: what the member's looks after its start find, each once."""
        looks = [(MachineCheck(name="quorum", ok=False, detail=why),) for why in failing]
        monkeypatch.setattr(credentials.etcd_checks, "survival", lambda *_words, **_more: found)
        monkeypatch.setattr(credentials.etcd_checks, "checks", lambda *_words: ("c", looks.pop(0) if looks else ()))
        monkeypatch.setattr(credentials.time, "sleep", lambda _seconds: None)

    return stands


def test_a_member_starts_anew_where_the_others_are_a_quorum_and_is_awaited(
    machine: Machine, etcd: Callable[..., None]
) -> None:
    etcd(survival(voters=3, survives=True), "has no leader", "has no leader")
    machine.run_member()
    assert credentials.machine_credentials(MEMBER, pki=machine.pki).unused == (ETCD,)
    found = machine.start_member()
    assert (found.error, found.unused, found.rotations) == ("", (), None)
    assert machine.asked == [("restart", ETCD)]
    machine.asked.clear()
    assert machine.start_member().error == ""
    assert machine.asked == [], "nothing is started anew without a reason"


@pytest.mark.parametrize("member", [True, False])
def test_a_member_that_the_quorum_needs_goes_on_with_the_former_authority(
    machine: Machine, etcd: Callable[..., None], *, member: bool
) -> None:
    etcd(survival(voters=3 if member else 0, survives=False, member=member))
    machine.run_member()
    found = machine.start_member()
    assert found.error.startswith("1 healthy of 3 voting members remain")
    assert (found.unused, machine.asked) == ((ETCD,), [])


def test_the_only_member_starts_anew_though_nothing_is_a_quorum_without_it(
    machine: Machine, etcd: Callable[..., None]
) -> None:
    etcd(survival(voters=1, survives=False))
    machine.run_member()
    assert machine.start_member().error == ""
    assert machine.asked == [("restart", ETCD)]


def test_a_member_that_does_not_commit_after_its_start_is_told(
    machine: Machine, etcd: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    etcd(survival(voters=3, survives=True), "does not commit")
    machine.run_member()
    monkeypatch.setattr(credentials, "READY_S", 0.0)
    assert machine.start_member().error == "quorum: does not commit"


def test_a_member_that_is_down_uses_nothing_else_than_it_has(machine: Machine) -> None:
    """It is for other lines of the status to say that it is down."""
    assert credentials.machine_credentials(MEMBER, pki=machine.pki).unused == ()
    assert (machine.start_member().error, machine.asked) == ("", [])
