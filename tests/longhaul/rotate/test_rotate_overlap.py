"""Rotations with overlap: whatever was signed and still lives is believed by every server, at every step."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clouds.base.control import CommandOutput
from components.control_plane import issuing
from components.model import Environment, load
from components.model.control_plane.machines import Role
from components.model.secrets.certificates import ETCD_CLIENT, authorities
from components.model.secrets.encryption_keys import RotationPhase
from components.model.secrets.rotations import AUTHORITY, SERVICE_ACCOUNTS, STEADY
from components.model.secrets.vault import ROTATIONS
from contract.annotations import AUTHORITIES
from contract.documents.node_answers import NodeReport, to_text
from contract.lifetimes import SERVICE_ACCOUNT_TOKEN_HOURS
from longhaul.cluster.nodes import node
from longhaul.control_plane.node_answers import parse_answer
from longhaul.report.status_verdict import StatusVerdict
from longhaul.rotate.authorities import TIMES
from longhaul.rotate.command import run
from longhaul.rotate.overlap import PATIENCE
from longhaul.rotate.servers import digests
from longhaul.rotate.subjects import KNOWN
from longhaul.status.observed import ApiEndpoint, ClusterView, Observed
from longhaul.status.rotations import judge_rotations
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.rotate.overlap_world import KilledError, World, first_vault

OVERLAPS = [name for name, one in KNOWN.items() if one.takes == {"now"}]
Make = Callable[[str], World]


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    return load(Path(__file__).parents[3] / "stacks" / "Pulumi.lab.yaml")


@pytest.fixture(scope="module", name="first")
def _first(environment: Environment) -> dict[str, str]:
    return first_vault(environment)


@pytest.fixture(name="make")
def _make(environment: Environment, first: dict[str, str]) -> Make:
    return lambda what: World(environment, what, first)


def left(world: World) -> list[str]:
    """Return what a rotation has left in the vault besides the keys in use."""
    return [name for name, value in world.vault.items() if name.endswith("-next") and value != "{}"]


@pytest.mark.parametrize("what", OVERLAPS)
def test_the_new_one_alone_is_believed_at_the_end(make: Make, what: str) -> None:
    world = make(what)
    (former,) = world.believed
    world.finish()
    (now,) = world.believed
    assert now != former
    assert world.all_believe
    assert former not in digests("".join(world.published.values()))
    assert (world.vault[ROTATIONS], left(world)) == ("{}", [])
    assert world.run().phase in (RotationPhase.USE, RotationPhase.STEADY)
    assert now in world.believed or world.standing == STEADY


# That of the events does what that of etcd does.
@pytest.mark.parametrize("what", [one for one in OVERLAPS if one != AUTHORITY + Role.EVENTS])
def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(make: Make, what: str) -> None:
    world = make(what)
    world.finish()
    for moment in range(1, world.steps + 1):
        again = make(what)
        (former,) = again.believed
        again.dies_at = moment
        with pytest.raises(KilledError):
            again.finish()
        # Meanwhile machines were made anew.
        for name in ("lab-api-0", "lab-etcd-0"):
            again.fetch(again.servers[name])
            again.servers[name].start()
            again.check()
        over = again.standing == STEADY and again.believed != (former,)
        before = again.believed
        again.finish()
        assert len(again.believed) == 1
        assert again.believed != (former,)
        assert former not in digests("".join(again.published.values()))
        assert again.believed == before or not over
        assert again.all_believe
        assert (again.vault[ROTATIONS], left(again)) == ("{}", [])


@pytest.mark.parametrize("what", OVERLAPS)
def test_timers_alone_never_leave_what_is_signed_unbelieved(environment: Environment, what: str) -> None:
    """Every machine fetches before each step of a run, and one of each kind starts anew."""

    class Busy(World):
        def step(self) -> None:
            super().step()
            for name, server in self.servers.items():
                self.fetch(server)
                if name.endswith("-1"):
                    server.start()

    world = Busy(environment, what)
    world.finish()
    assert world.all_believe


@pytest.mark.parametrize("what", OVERLAPS)
def test_no_rotation_begins_where_a_server_does_not_tell(
    make: Make, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    world = make(what)
    before = dict(world.vault)
    monkeypatch.setattr(world, "run_command", lambda *_words, **_more: CommandOutput(stdout="", stderr="no such"))
    with pytest.raises(CommandError, match=r"lab-(api|etcd|events)-0 does not report its credentials: no such"):
        world.run()
    assert world.vault == before


@pytest.mark.parametrize("what", OVERLAPS)
def test_a_server_that_does_not_fetch_stops_it_where_all_is_believed(make: Make, what: str) -> None:
    world = make(what)
    deaf = "lab-events-1" if what == AUTHORITY + ETCD_CLIENT else "lab-api-1"
    world.deaf.add(deaf)
    with pytest.raises(CommandError, match=rf"{deaf} does not have .* as the vault does: it could not fetch"):
        world.run()
    assert world.standing.phase is RotationPhase.TRUST
    world.deaf.clear()
    world.finish()


def test_nobody_waits_at_a_terminal_for_a_day(make: Make) -> None:
    world = make(SERVICE_ACCOUNTS)
    standing = world.run()
    assert standing.until == world.now + timedelta(hours=SERVICE_ACCOUNT_TOKEN_HOURS)
    assert "run this again then" in world.told[-1]
    assert len(world.believed) == 2
    assert world.run() == standing, "the time does not begin anew"
    world.now = standing.until - PATIENCE
    assert world.run() == STEADY


def test_now_takes_the_former_one_away_and_says_what_that_ends(environment: Environment) -> None:
    class Reckless(World):
        def check(self) -> None:
            """Tokens that live are not believed: that is what was asked for."""

    world = Reckless(environment, SERVICE_ACCOUNTS)
    assert world.run(now=True) == STEADY
    assert len(world.believed) == 1
    assert "not waiting: tokens of the former key stop working" in world.told


def test_tokens_without_an_end_keep_the_former_key_believed(make: Make) -> None:
    world = make(SERVICE_ACCOUNTS)
    metadata = {"namespace": "kube-system", "name": "old", "creationTimestamp": "2025-01-01T00:00:00Z"}
    world.endless = [{"metadata": metadata}]
    standing = world.run()
    assert standing.until is not None
    world.now = standing.until
    with pytest.raises(
        CommandError, match="the Secrets kube-system/old hold tokens of the former key that never expire"
    ):
        world.run()
    assert len(world.believed) == 2
    metadata["creationTimestamp"] = world.now.isoformat().replace("+00:00", "Z")
    assert world.run() == STEADY


def test_an_authority_that_signs_what_the_vault_keeps_has_it_made_anew(make: Make) -> None:
    world = make(AUTHORITY + "front-proxy")
    before = {name: world.vault[name] for name in world.vault if name.endswith("-front-proxy-client")}
    others = {name: value for name, value in world.vault.items() if name.endswith(("-kubelet-client", "-member"))}
    world.finish()
    assert before
    for name, value in before.items():
        certificate, issuer = issuing.certificates_in(world.vault[name].replace("\\n", "\n"))
        assert world.vault[name] != value
        assert issuing.is_issued_by(certificate, issuer)
        assert issuer == world.vault["trust-front-proxy"]
    assert {name: world.vault[name] for name in others} == others


def test_members_and_servers_start_anew_with_authorities_of_etcd_and_nobody_else(make: Make) -> None:
    def started(what: str) -> dict[str, int]:
        world = make(AUTHORITY + what)
        world.finish()
        return dict(world.starts)

    servers = dict.fromkeys(("lab-api-0", "lab-api-1"), 2)
    members = {role: dict.fromkeys((f"lab-{role}-{index}" for index in range(3)), 2) for role in ("etcd", "events")}
    assert started("etcd") == servers | members["etcd"]
    assert started("events") == servers | members["events"]
    assert started(ETCD_CLIENT) == members["etcd"] | members["events"]
    assert started("nodes") == {}


def test_a_run_that_lost_its_turn_records_nothing(make: Make) -> None:
    world = make(SERVICE_ACCOUNTS)
    with pytest.raises(CommandError, match="another run has taken over this rotation"):
        world.run(held=lambda: False)
    assert world.vault[ROTATIONS] == "{}"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            {"error": "no other API server answers at 10.0.0.4:6443"},
            "does not use its present files: no other API server answers",
        ),
        ({"unused": ["kube-apiserver.service"]}, "has units that do not use its present files: kube-apiserver"),
        ({}, "lab-api-0 does not have"),
    ],
)
def test_a_server_is_not_believed_before_it_uses_the_keys(
    make: Make, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], why: str
) -> None:
    world = make(SERVICE_ACCOUNTS)
    tell = world.run_command

    def told(place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        output = tell(place, machine, script, timeout_s=timeout_s)
        if "--take-over" not in script:
            return output
        found = json.loads(output.stdout)
        return CommandOutput(stdout=json.dumps({**found, **answer} if answer else {}), stderr="")

    monkeypatch.setattr(world, "run_command", told)
    with pytest.raises(CommandError, match=why):
        world.run()
    assert world.standing.phase is RotationPhase.TRUST


@pytest.mark.parametrize(
    ("what", "deaf", "file"),
    [("authority-etcd", "lab-etcd-1", "member.pem"), ("authority-kubernetes", "lab-api-1", "apiserver.pem")],
)
def test_a_certificate_is_taken_over_once_the_port_shows_it(
    make: Make, monkeypatch: pytest.MonkeyPatch, what: str, deaf: str, file: str
) -> None:
    """Whatever the machine's files are."""
    world = make(what)
    former = digests(world.servers[deaf].files[file])
    tell = world.run_command

    def told(place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        found = json.loads(tell(place, machine, script, timeout_s=timeout_s).stdout)
        return CommandOutput(
            stdout=json.dumps({**found, "shown": {file: former}} if machine == deaf else found), stderr=""
        )

    world.__dict__["run_command"] = told
    with pytest.raises(CommandError, match=f"{deaf} has .*{file} as the vault does, but a port shows another"):
        world.finish()
    assert world.standing.phase is RotationPhase.USE


def test_servers_start_anew_behind_the_balancer_where_there_is_another(make: Make, environment: Environment) -> None:
    world = make(SERVICE_ACCOUNTS)
    world.finish()
    scripts = [script for script in world.scripts if "--take-over" in script]
    assert scripts
    assert all(re.search(r"--take-over --frontend 10\.[0-9.]+:6443$", script) for script in scripts)
    api = environment.control_plane.api.model_copy(update={"servers": 1})
    control = environment.control_plane.model_copy(update={"api": api})
    alone = World(environment.model_copy(update={"control_plane": control}), SERVICE_ACCOUNTS)
    alone.finish()
    assert all(script.endswith("--take-over") for script in alone.scripts if "take-over" in script)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"what": "service-accounts", "without": ["a"]}, "--without is not for service-accounts"),
        ({"what": "secrets-encryption", "now": True}, "--now is not for secrets-encryption"),
        ({"what": "service-accounts", "readmit": "key1"}, "--readmit is not for service-accounts"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_is_done(options: dict[str, Any], why: str) -> None:
    invocation: Any = SimpleNamespace(options=Namespace(**{"now": False, "readmit": "", "without": [], **options}))
    with pytest.raises(CommandError, match=why) as raised:
        run(invocation)
    assert raised.value.code == Exit.USAGE


def test_every_authority_is_known(environment: Environment) -> None:
    names = {AUTHORITY + one.name for one in authorities(environment)}
    assert names == {AUTHORITY + name for name in TIMES}
    assert {name for name in KNOWN if name.startswith(AUTHORITY)} == {AUTHORITY + name for name in TIMES}


def told(*, role: str = "api", unused: tuple[str, ...] = (), **rotations: dict[str, str]) -> Any:
    known = {name.replace("_", "-"): one for name, one in rotations.items()} if role == "api" else None
    held = {"files": {}, "unused": unused, "rotations": known}
    return parse_answer(json.dumps({"machine": "m", "ready": True, "role": role, "credentials": held}), "")


def judged(**answers: Any) -> Any:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    return judge_rotations(
        "lab", Observed(cloud={}, answers=answers, endpoint=ApiEndpoint(url="", reached=True), now=now)
    )


def test_status_tells_what_is_not_over_and_when_it_may_go_on() -> None:
    silent = parse_answer(to_text(NodeReport(machine="m", role="api", ready=True)), "")
    assert judged(a=told(), b=told(), c=silent) == ()
    waits = {"phase": "use", "until": "2026-11-02T03:04:05+00:00"}
    (found,) = judged(a=told(service_accounts=waits), b=told(service_accounts=waits))
    assert (found.verdict, found.phase, found.until) == (StatusVerdict.OK, "use", "2026-11-02T03:04:05+00:00")
    assert found.message == (
        "the new key signs, both are trusted until 2026-11-02 03:04 UTC; then `longhaul rotate --env lab "
        "service-accounts` continues"
    )
    (found,) = judged(a=told(authority_kubernetes={**waits, "phase": "trust"}))
    assert found.message.startswith("the former key signs, both are trusted until 2026-11-02 03:04 UTC; then `longhaul")
    half = {"phase": "trust", "until": ""}
    nodes, accounts = judged(a=told(authority_nodes=half, service_accounts=waits | {"until": "2026-10-01T00:00:00Z"}))
    assert (nodes.name, nodes.phase, accounts.phase) == ("authority-nodes", "trust", "use")
    assert accounts.message.startswith("the new key signs, both are trusted: `longhaul rotate")


def test_status_tells_servers_that_differ_or_use_other_keys() -> None:
    half = {"phase": "trust", "until": ""}
    (found,) = judged(a=told(authority_nodes=half), b=told())
    assert found.verdict is StatusVerdict.DEGRADED
    assert found.message.startswith("servers are in different phases (a: trust, b: steady), and fetch within fifteen")
    started = {"unused": ("kube-controller-manager.service",), "authority_kubernetes": half}
    (found,) = judged(a=told(**started), b=told(authority_kubernetes=half))
    assert (found.name, found.verdict) == ("authority-kubernetes", StatusVerdict.DEGRADED)
    (found,) = judged(a=told(unused=("kube-apiserver.service",)), b=told())
    assert (found.name, found.verdict) == (SERVICE_ACCOUNTS, StatusVerdict.DEGRADED)
    assert found.message.startswith("programs of a use other keys than these machines have")


def test_status_names_nodes_that_have_not_followed() -> None:
    answer = told(authority_kubernetes={"phase": "trust", "until": ""})
    server = replace(answer, credentials=replace(answer.credentials, authorities=frozenset("ab")))
    nodes = [
        {"metadata": {"name": name, "annotations": {AUTHORITIES: said}}} for name, said in (("n", "a,b"), ("m", "a"))
    ]
    observed = Observed(
        cloud={},
        answers={"a": server},
        endpoint=ApiEndpoint(url="", reached=True),
        cluster=ClusterView(nodes=tuple(map(node, nodes))),
        now=datetime(2026, 11, 1, tzinfo=UTC),
    )
    (found,) = judge_rotations("lab", observed)
    assert found.message.endswith("continues; nodes that have not followed yet: m")


def test_status_tells_members_that_use_another_authority() -> None:
    """A member is told of no rotation, so it differs from no server."""
    late = told(role="events", unused=("etcd.service",))
    half = {"phase": "distrust", "until": ""}
    (found,) = judged(a=told(authority_etcd_client=half), m=told(role="etcd"), e=late)
    assert (found.name, found.verdict, found.phase) == ("authority-etcd-client", StatusVerdict.DEGRADED, "distrust")
    assert found.message.startswith("programs of e use other keys than these machines have: `longhaul rotate")
    (alone,) = judged(a=told(), e=late)
    assert (alone.name, alone.verdict) == ("authority-events", StatusVerdict.DEGRADED)
