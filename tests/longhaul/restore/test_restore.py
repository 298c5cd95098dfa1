"""Choice of what is restored, and what is refused before anything is touched."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clouds.azure.control import AzureControlAccess
from clouds.azure.errors import AzureError
from clouds.base.control import CommandOutput, MachineView
from components.model import Environment, Role, control_machines, load, plan
from components.model.backups.section import Backups
from contract.documents.backups import StoredBackup
from contract.documents.etcd_state import RecordedCluster, of_text
from contract.documents.restore import Step
from longhaul import cli
from longhaul.etcd_backups.choice import choose_backup, newest_revision, revision_bump
from longhaul.etcd_backups.listing import ListedBackup, control_access
from longhaul.etcd_backups.snapshots import BUMP
from longhaul.restore.age_header import KeyFileError, identities, wrap
from longhaul.restore.file_key import with_file_key
from longhaul.restore.loss import loss_text
from longhaul.restore.machine_states import ObservedMember, ObservedPlane, may_go_on
from longhaul.restore.machines import PlaceMachines
from longhaul.restore.preparation import Prepared, RestoreArguments, prepare
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vault.restore_record import (
    RestoreChoice,
    RestoreRecords,
    RestoreState,
    UnfinishedRestore,
    refuse_half_restored,
)
from tests.longhaul.conftest import Checkout

NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)
SECRET = "AGE-SECRET-KEY-1N9JEPW6DWJ0ZQUDX63F5A03GX8QUW7PXDE39N8UYF82VZ9PC8UFS3M7XA9"
"""Key that `age-keygen --help` shows, and its public half."""
PUBLIC = "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"
OTHER = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
"""Another public key that it shows."""
TOLD = {
    "format": "1",
    "environment": "lab",
    "etcd": "3.6.8",
    "revision": "700",
    "keys": "3",
    "size": "20",
    "sha256": "0" * 64,
    "snapshot_sha256": "0" * 64,
}


def backup(minutes: int, *, etcd: str = "etcd", revision: int = 700, flaw: str = "") -> ListedBackup:
    return ListedBackup(
        etcd=etcd,
        kept="daily",
        name=f"daily/{etcd}/{minutes}",
        made=NOW - timedelta(minutes=minutes),
        age_s=60 * minutes,
        size_bytes=10,
        plain_bytes=20,
        revision=revision,
        keys=3,
        member="m",
        etcd_version="3.6.8",
        sha256="",
        snapshot_sha256="",
        flaw=flaw,
    )


FOUND = [backup(1, flaw="it is empty"), backup(5), backup(60, revision=9, etcd="events"), backup(90), backup(200)]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ({}, "daily/etcd/5"),
        ({"at": NOW - timedelta(minutes=6)}, "daily/etcd/90"),
        ({"names": ["daily/etcd/200"]}, "daily/etcd/200"),
        ({"names": ["daily/events/60"]}, "daily/etcd/5"),
    ],
    ids=["newest", "at", "named", "another-named"],
)
def test_the_newest_good_backup_is_chosen_unless_another_is_asked_for(wanted: dict[str, Any], name: str) -> None:
    assert choose_backup("etcd", FOUND, **{"at": None, "names": [], **wanted}).name == name


@pytest.mark.parametrize(
    ("found", "wanted", "said"),
    [
        ([], {}, "etcd: there is no backup"),
        (FOUND[:1], {}, "no backup can be restored here. The newest, daily/etcd/1: it is empty"),
        (FOUND, {"names": ["daily/etcd/1"]}, "daily/etcd/1 cannot be restored: it is empty"),
        (FOUND, {"at": NOW - timedelta(days=1)}, "there is no backup of 2030-05-03 10:30:00Z or before"),
    ],
    ids=["none", "flawed", "flawed-named", "too-early"],
)
def test_without_a_good_backup_the_reason_is_told(found: list[ListedBackup], wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        choose_backup("etcd", found, **{"at": None, "names": [], **wanted})


def test_revisions_begin_above_all_that_is_known() -> None:
    found = [backup(5), backup(1, revision=10**11, flaw="another environment's"), backup(1, revision=900)]
    assert newest_revision(backup(5), found, [650]) == 900
    assert newest_revision(backup(5), found, [BUMP + 5000]) == BUMP + 5000
    assert (revision_bump(backup(5), 900), revision_bump(backup(5), 0)) == (BUMP + 200, BUMP)
    # A stolen member cannot use the revisions up.
    assert newest_revision(backup(5), [*found, backup(2, revision=2**62)], [2**62]) == 900


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"# only a comment\n", "has no private key of age"),
        (PUBLIC.encode(), "line 1: backups use only keys of the form AGE-SECRET-KEY-1"),
        (SECRET.replace("N9", "9N").encode(), "line 1: this is not a private key"),
        (b"age-encryption.org/v1\n-> scrypt \xff", "is not text: decrypt a key file with a passphrase first"),
        (None, "No such file"),
    ],
    ids=["empty", "public", "mistyped", "encrypted", "missing"],
)
def test_a_key_file_that_is_none_is_told(
    checkout: Checkout, tmp_path: Path, content: bytes | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KeyFileError, match=said):
        identities(path)
    words = ["restore", "--project", str(checkout.path), "--env", "dev", "--key", str(path), "--yes"]
    assert cli.main(words) == Exit.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--although-healthy", "--etcd", "etcd", "--yes"], "type the environment's name"),
        (["--although-healthy"], "name the etcd cluster with --etcd"),
    ],
)
def test_a_healthy_etcd_cluster_is_never_replaced_by_a_program(
    checkout: Checkout, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--project", str(checkout.path), "--env", "dev", "--key", "k"]
    assert cli.main(["restore", *place, *words]) == Exit.USAGE
    assert said in capsys.readouterr().err


def test_an_environment_without_backups_is_told(
    checkout: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(SECRET)
    monkeypatch.setattr("longhaul.restore.command._alone", lambda _where: nullcontext())
    words = ["restore", "--project", str(checkout.path), "--env", "dev", "--key", str(tmp_path / "key"), "--yes"]
    assert cli.main(words) == Exit.USAGE
    assert "has no backups: declare `backups`" in capsys.readouterr().err


class Cloud:
    """The control plane's cloud, whose machines answer what a test wants."""

    def __init__(self, environment: Environment, patch: pytest.MonkeyPatch) -> None:
        self.environment, self.now = environment, datetime.now(tz=UTC).replace(microsecond=0)
        self.names = [one.name for one in control_machines(environment, plan(environment))]
        self.power = dict.fromkeys(self.names, "running")
        self.answers: dict[str, Any] = {name: self.answer(name) for name in self.names}
        self.secrets: dict[str, str] = {}
        self.stored = {"daily": [self.view(5), self.view(5, role="events")]}
        self.head: bytes | AzureError = wrap(bytes(16), PUBLIC)
        patch.setattr(AzureControlAccess, "machines", staticmethod(self._machines))
        patch.setattr(AzureControlAccess, "run_command", staticmethod(self._run))
        patch.setattr(AzureControlAccess, "secret", staticmethod(lambda _place, _vault, name: self.secrets.get(name)))
        patch.setattr(AzureControlAccess, "set_secret", staticmethod(self._set))
        patch.setattr(AzureControlAccess, "backups", staticmethod(self._backups))
        patch.setattr(AzureControlAccess, "backup_head", staticmethod(self._head))

    def answer(self, machine: str, **more: Any) -> dict[str, Any]:
        return {"machine": machine, "hold": "", "record": None, "quorum": False, "revision": 0, **more}

    def view(self, minutes: int, *, role: str = "etcd", **more: str) -> StoredBackup:
        made, member = self.now - timedelta(minutes=minutes), f"lab-{role}-0"
        own = {"role": role, "member": member, "taken": f"{made:%Y-%m-%dT%H:%M:%SZ}"}
        name = f"{role}/{made:%Y-%m-%dT%H%M%SZ}-{member}.db.gz.age"
        return StoredBackup(kept="daily", name=name, size=5, made=made, metadata={**TOLD, **own, **more})

    def name(self, minutes: int, kept: str = "daily") -> str:
        """Return the name of the main etcd cluster's backup of then."""
        return f"{kept}/{self.view(minutes).name}"

    def _machines(self, _place: Any) -> list[MachineView]:
        return [MachineView(name=n, provisioning="Succeeded", power=p) for n, p in self.power.items()]

    def _run(self, _place: Any, machine: str, _script: str, *, timeout_s: float) -> CommandOutput:
        said = self.answers[machine]
        if isinstance(said, AzureError):
            raise said
        if isinstance(said, str):
            return CommandOutput(stdout="", stderr=said)
        return CommandOutput(stdout=json.dumps(said), stderr="")

    def _set(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.secrets[name] = value

    def _backups(self, _place: Any, _storage: str, container: str, prefix: str) -> list[StoredBackup]:
        return [one for one in self.stored.get(container, []) if one.name.startswith(prefix)]

    def _head(self, *_: Any) -> bytes:
        if isinstance(self.head, AzureError):
            raise self.head
        return self.head

    def of(self, role: Role) -> list[str]:
        return [one.name for one in control_machines(self.environment, plan(self.environment)) if one.role is role]

    def prepare(self, **wanted: Any) -> Prepared:
        found, place = control_access(self.environment)
        book = RestoreRecords(control=found, place=place, environment=self.environment)
        return prepare(self.environment, book, PlaceMachines(control=found, place=place), RestoreArguments(**wanted))


@pytest.fixture(name="cloud")
def _cloud(root: Path, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    lab = load(root / "stacks" / "Pulumi.lab.yaml")
    return Cloud(lab.model_copy(update={"backups": Backups(recipients=(OTHER,))}), monkeypatch)


def test_those_without_a_quorum_are_restored_and_what_is_lost_is_told(cloud: Cloud) -> None:
    first, *_ = cloud.of(Role.ETCD)
    cloud.answers[first] = cloud.answer(first, revision=750)
    events = cloud.of(Role.EVENTS)[0]
    cloud.answers[events] = cloud.answer(events, quorum=True, revision=800)
    found = cloud.prepare()
    assert list(found.backups) == [Role.ETCD]
    assert found.half.clusters == {"etcd": RestoreChoice(backup=cloud.name(5), bump=BUMP + 50)}
    text = loss_text(found.half, found.backups, found.observed)
    assert f"at least 50 revisions, since {first} has revision 750" in text
    assert "its quorum is lost, 1 of" in text
    cloud.answers[events] = cloud.answer(events)
    found = cloud.prepare()
    assert list(found.backups) == [Role.ETCD, Role.EVENTS]
    assert "no member reports how much" in loss_text(found.half, found.backups, found.observed)
    assert cloud.secrets == {}


def test_a_healthy_one_is_replaced_only_when_that_is_said(cloud: Cloud) -> None:
    for role in (Role.ETCD, Role.EVENTS):
        name = cloud.of(role)[0]
        cloud.answers[name] = cloud.answer(name, quorum=True, revision=800)
    for wanted in ({}, {"roles": [Role.EVENTS]}):
        with pytest.raises(CommandError, match="there is a quorum") as refused:
            cloud.prepare(**wanted)
        assert refused.value.code is Exit.REFUSED
    found = cloud.prepare(roles=[Role.EVENTS], although_healthy=True)
    assert (list(found.backups), found.healthy) == ([Role.EVENTS], [Role.EVENTS])
    assert "it has a quorum" in loss_text(found.half, found.backups, found.observed)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (AzureError("no answer"), "no answer"),
        ("bash: no such file", "no such file"),
    ],
    ids=["silent", "broken"],
)
def test_a_machine_that_cannot_be_asked_stops_it(cloud: Cloud, said: Any, why: str) -> None:
    cloud.answers[cloud.names[-1]] = said
    with pytest.raises(CommandError, match=why) as refused:
        cloud.prepare()
    assert cloud.names[-1] in str(refused.value)
    assert refused.value.code is Exit.REFUSED


def test_machines_that_are_off_or_gone_are_left_to_up(cloud: Cloud) -> None:
    cloud.power[cloud.names[0]] = "deallocated"
    del cloud.power[cloud.names[1]]
    said = f"{cloud.names[0]} is deallocated, {cloud.names[1]} is gone: run `longhaul up --env lab`"
    with pytest.raises(CommandError, match=said):
        cloud.prepare()


def test_backups_that_are_not_for_here_are_left_out(cloud: Cloud) -> None:
    cloud.stored["frequent"] = [
        cloud.view(1, environment="prod", revision="999999"),
        cloud.view(2, etcd="3.7.0", revision="999999"),
    ]
    found = cloud.prepare(roles=[Role.ETCD])
    assert found.half.clusters["etcd"] == RestoreChoice(backup=cloud.name(5), bump=BUMP)
    with pytest.raises(CommandError, match="to the environment prod"):
        cloud.prepare(roles=[Role.ETCD], names=[cloud.name(1, "frequent")])
    with pytest.raises(CommandError, match="daily/etcd/6: no such backup"):
        cloud.prepare(roles=[Role.ETCD], names=["daily/etcd/6"])


@pytest.mark.parametrize(
    ("head", "said", "code"),
    [
        (AzureError("the firewall refuses"), "does not come: the firewall refuses", Exit.UNREACHABLE),
        (wrap(bytes(16), OTHER), "cannot be decrypted with my-key: none of the private keys opens it", Exit.FAILED),
        (wrap(bytes(16), PUBLIC)[:100], "its header is not whole", Exit.FAILED),
    ],
    ids=["unreachable", "another-key", "cut-short"],
)
def test_a_backup_that_cannot_be_opened_is_told_before_anything_is_stopped(
    cloud: Cloud, head: Any, said: str, code: Exit, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(SECRET)
    cloud.head = head
    with pytest.raises(CommandError, match=said) as refused:
        with_file_key(cloud.environment, backup(5), identities(tmp_path / "key"), key_file="my-key")
    assert refused.value.code is code


HALF = UnfinishedRestore(
    id="abc",
    state=RestoreState.RUNNING,
    clusters={"etcd": RestoreChoice(backup="", bump=7)},
    revisions={"etcd": 5 * BUMP},
)


def half_done(cloud: Cloud) -> UnfinishedRestore:
    half = replace(HALF, clusters={"etcd": RestoreChoice(backup=cloud.name(5), bump=7)})
    found, place = control_access(cloud.environment)
    RestoreRecords(control=found, place=place, environment=cloud.environment).write(half)
    for name in cloud.of(Role.ETCD):
        record = {"id": "abc", "backup": cloud.name(5), "step": 1}
        cloud.answers[name] = cloud.answer(name, record=record)
    return half


def test_a_half_done_restore_is_gone_on_with_and_up_waits_for_it(cloud: Cloud) -> None:
    half = half_done(cloud)
    with pytest.raises(CommandError, match="a restore of etcd is incomplete") as refused:
        refuse_half_restored(cloud.environment)
    assert refused.value.code is Exit.REFUSED
    found = cloud.prepare()
    assert found.half == half
    assert found.backups[Role.ETCD].name == cloud.name(5)
    cloud.stored["daily"].append(cloud.view(1))
    assert cloud.prepare().half == half


def test_another_backup_begins_anew_and_says_so(cloud: Cloud) -> None:
    half_done(cloud)
    cloud.stored["daily"].append(cloud.view(9))
    found = cloud.prepare(names=[cloud.name(9)])
    assert found.half.id != "abc"
    assert found.notes == [f"the restore abc of {cloud.name(5)} is incomplete and given up: this run begins again"]
    # The revisions of the first one may have been seen.
    assert found.half.clusters["etcd"].bump == 6 * BUMP - 700
    with pytest.raises(CommandError, match="etcd: partly restored, too"):
        cloud.prepare(roles=[Role.EVENTS])


@pytest.mark.parametrize(
    ("steps", "goes_on"),
    [((1, 0, -1), True), ((3, 2, 3), True), ((4, 3, 3), True), ((3, 3, -1), False), ((3, 3, 1), False)],
)
def test_data_is_never_made_anew_beside_a_member_that_runs(steps: tuple[int, ...], goes_on: bool) -> None:
    members = [
        ObservedMember(name=str(number), quorum=False, revision=0, id="abc" if step >= 0 else "", step=Step(step))
        for number, step in enumerate(steps)
    ]
    assert may_go_on(HALF, ObservedPlane(members={Role.ETCD: members}, servers=())) is goes_on


def test_a_restore_that_is_done_or_waits_lets_up_in(cloud: Cloud) -> None:
    found, place = control_access(cloud.environment)
    book = RestoreRecords(control=found, place=place, environment=cloud.environment)
    for state in (RestoreState.DONE, RestoreState.PAUSED):
        book.write(replace(HALF, state=state))
        refuse_half_restored(cloud.environment)
    cloud.secrets["restore"] = "?"
    with pytest.raises(CommandError, match="look at it, and delete it"):
        book.last()
    recorded = RecordedCluster(state="existing", cluster="1", founders=("m",))
    cloud.secrets["etcd-state"] = recorded.to_text()
    book.set_cluster(Role.ETCD, "2")
    assert of_text(cloud.secrets["etcd-state"]) == replace(recorded, cluster="2")


@pytest.fixture(name="typed")
def _typed(cloud: Cloud, checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the words of a command that gets as far as its first step, in an environment of this cloud."""
    (tmp_path / "key").write_text(SECRET)
    monkeypatch.setattr("longhaul.restore.command._alone", lambda _where: nullcontext())
    monkeypatch.setattr("longhaul.project.checkout.Project.load", lambda _project, _env: cloud.environment)
    monkeypatch.setattr("longhaul.restore.command.enter_lab", lambda *_: None)
    return ["restore", "--project", str(checkout.path), "--env", "dev", "--key", str(tmp_path / "key")]


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [
        (KeyboardInterrupt(), Exit.INTERRUPTED, "is incomplete; `longhaul restore --env dev --key"),
        (CommandError("no disk"), Exit.FAILED, "continues from here"),
        (CommandError("no vault", code=Exit.UNREACHABLE), Exit.UNREACHABLE, "continues from here"),
    ],
    ids=["interrupted", "failed", "unreachable"],
)
def test_a_run_that_ends_early_says_how_to_go_on(
    typed: list[str],
    ends: BaseException,
    code: Exit,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def end(_restoration: Any) -> None:
        raise ends

    monkeypatch.setattr("longhaul.restore.steps.Restoration.run", end)
    assert cli.main([*typed, "--yes"]) == code
    assert said in capsys.readouterr().err


def test_nothing_is_done_before_somebody_agrees(
    typed: list[str], cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(typed) == Exit.USAGE
    said = capsys.readouterr().err
    assert "LOST: all that was written in the 5 min since then" in said
    assert "no terminal to ask on" in said
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("longhaul.terminal.confirm.ask", lambda _question: "another")
    assert cli.main(typed) == Exit.REFUSED
    assert "nothing was done" in capsys.readouterr().err
    assert cloud.secrets == {}
