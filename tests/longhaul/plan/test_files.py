"""Plans from the file of before where there is no state: the keys that change, and the changes that are refused.

After an intended change of words: ``pytest tests/longhaul/plan --update-golden``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clouds.base.findings import Severity
from contract.reasons.plan import FileReason
from longhaul.judgement.plan import Plan, PlanTerms, make_plan
from longhaul.judgement.text import to_text
from longhaul.judgement.without_state import ALONE, file_changes
from longhaul.plan.markdown import to_markdown
from tests.longhaul.judgement.steps import Step, changes, lab, machine, said
from tests.support.golden import Golden

Raw = dict[str, Any]
Change = Callable[[Raw], None]

STACK: Step = {
    "op": "create",
    "urn": "urn:pulumi:lab::longhaul::pulumi:pulumi:Stack::longhaul-lab",
    "newState": {"type": "pulumi:pulumi:Stack", "custom": False},
}
"""The creation of this resource means that there was no state."""


def compared(change: Change, *, before: Change | None = None, state: bool = False) -> Plan:
    """Return the plan of a changed file, with or without a state."""
    base = lab(before)

    def both(raw: Raw) -> None:
        if before is not None:
            before(raw)
        change(raw)

    steps = () if state else (STACK,)
    return make_plan(lab(both), changes(*steps), PlanTerms(against=f"compared with {ALONE}", base=base))


def five_members(raw: Raw) -> None:
    raw["control_plane"]["etcd"]["members"] = 5


def three_members(raw: Raw) -> None:
    raw["control_plane"]["etcd"]["members"] = 3


def machine_type(raw: Raw) -> None:
    raw["control_plane"]["etcd"]["machine_type"] = "Standard_L16s_v3"


def larger(raw: Raw) -> None:
    raw["max_nodes"] = 3001


def pool_of_a_larger_class(raw: Raw) -> None:
    raw["pools"]["cpu"]["max"] = 600


def within_the_class(raw: Raw) -> None:
    raw["max_nodes"] = 500


def far(raw: Raw) -> None:
    raw["control_plane"]["round_trip_ms"] = 80


def near(raw: Raw) -> None:
    raw["control_plane"]["round_trip_ms"] = 60


def version(raw: Raw) -> None:
    raw["versions"] = {"kubernetes": "1.30.3"}


def version_before(raw: Raw) -> None:
    """Declare a version explicitly, since the default is the pinned one."""
    raw["versions"] = {"kubernetes": "1.30.2"}


def pool_maximum(raw: Raw) -> None:
    raw["pools"]["cpu"]["max"] = 20


def supernet(raw: Raw) -> None:
    raw["supernet"] = "10.80.0.0/12"


def region(raw: Raw) -> None:
    raw["sites"]["use1"]["region"] = "us-west-2"


def pool_gone(raw: Raw) -> None:
    del raw["pools"]["cpu"]


def pool_new(raw: Raw) -> None:
    reserved = {"reservation": {"id": "cr-0123456789abcdef0"}, "zones": ["a"]}
    raw["pools"]["gpu"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": 7, **reserved}


def tags(raw: Raw) -> None:
    raw["tags"] = {"team": "research"}


def api_type(raw: Raw) -> None:
    raw["control_plane"]["api"]["machine_type"] = "Standard_D16s_v5"


def image(raw: Raw) -> None:
    raw["sites"]["weu"]["image"] = raw["sites"]["weu"]["image"].replace("1.0.0", "1.0.1")


def labels(raw: Raw) -> None:
    raw["pools"]["cpu"]["labels"] = {"tier": "batch"}


def operators(raw: Raw) -> None:
    raw["access"]["operators"] = ["203.0.113.0/28"]


CASES: dict[str, tuple[Change, Change | None, Severity]] = {
    "machine-type": (machine_type, None, Severity.WARNING),
    "version": (version, version_before, Severity.WARNING),
    "members": (three_members, five_members, Severity.WARNING),
    "pool-maximum": (pool_maximum, None, Severity.OK),
}


@pytest.mark.parametrize("form", ["txt", "md"])
@pytest.mark.parametrize("name", CASES)
def test_a_change_of_the_file_alone_reads_as_it_did(name: str, form: str, golden: Golden) -> None:
    change, before, verdict = CASES[name]
    plan = compared(change, before=before)
    assert plan.verdict is verdict
    golden(f"files-{name}.{form}", (to_text if form == "txt" else to_markdown)(plan))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (supernet, "refused: The address plan in use changes: supernet: 10.64.0.0/12 -> 10.80.0.0/12"),
        (region, "refused: A setting in use changes: sites.use1.region: us-east-1 -> us-west-2"),
        (pool_gone, "refused: 10 nodes of 10 would go"),
    ],
)
def test_what_the_files_show_to_be_refused_is_refused(change: Change, what: str) -> None:
    plan = compared(change)
    assert plan.verdict is Severity.PROBLEM
    assert any(one.startswith(what) for one in said(plan)), said(plan)


@pytest.mark.parametrize("change", [pool_maximum, pool_new, tags, within_the_class, near])
def test_what_interrupts_nothing_is_safe_and_is_listed(change: Change) -> None:
    plan = compared(change)
    (reason,) = plan.reasons
    assert (plan.verdict, reason.severity) == (Severity.OK, Severity.OK)
    assert reason.lines


def test_every_key_is_listed_and_what_comes_or_goes_as_a_whole() -> None:
    def many(raw: Raw) -> None:
        for change in (machine_type, pool_gone, pool_new, tags):
            change(raw)

    lines = [one.lines for one in compared(many).reasons if one.lines]
    assert lines == [
        ("control_plane.etcd.machine_type: Standard_L8s_v3 -> Standard_L16s_v3",),
        ("pools.cpu: there -> gone",),
        ("pools.gpu: - -> new", "tags.team: - -> research"),
    ]


def test_a_default_that_is_written_out_is_no_change() -> None:
    def written(raw: Raw) -> None:
        raw["versions"] = {"kubernetes": lab().versions.kubernetes}

    assert file_changes(lab(), lab(written)) == ()
    assert compared(written).reasons == ()


def test_of_a_long_list_what_differs_is_told() -> None:
    ranges = [f"203.0.113.{number}/32" for number in range(8)]

    def operators(raw: Raw) -> None:
        raw["access"]["operators"] = ranges

    def one_more(raw: Raw) -> None:
        raw["access"]["operators"] = [*ranges, "198.51.100.0/28"]

    def reversed_(raw: Raw) -> None:
        raw["access"]["operators"] = ranges[::-1]

    (one,) = file_changes(lab(operators), lab(one_more))
    assert (one.path, one.before, one.after) == ("access.operators", "-", '["198.51.100.0/28"]')
    assert [one.path for one in file_changes(lab(operators), lab(reversed_))] == ["access.operators"]


def test_a_host_that_changes_is_a_key() -> None:
    base = lab()
    host = base.hosts[0]
    after = base.model_copy(update={"hosts": (host.model_copy(update={"gpus": host.gpus + 1}), *base.hosts[1:])})
    assert [one.path for one in file_changes(base, after)] == [f"hosts.{host.name}.gpus"]


@pytest.mark.parametrize(
    ("change", "what", "why"),
    [
        (api_type, "2 of 2 API servers are replaced, one at a time.", "Running work is not interrupted"),
        (image, "3 of 3 members of the etcd cluster events are replaced, one at a time.", "Running work is not"),
        (far, "3 of 3 members of the etcd cluster etcd are replaced, one at a time.", "Running work is not"),
        (labels, "New machines of pools will differ from the running ones.", "Running work continues"),
        (operators, "Access from outside to the vault and the racks' gateways changes.", "is not touched"),
    ],
)
def test_a_reason_says_what_happens_to_work_that_runs(change: Change, what: str, why: str) -> None:
    plan = compared(change)
    (reason,) = (one for one in plan.reasons if one.what == what)
    assert reason.why.startswith(why) or why in reason.why
    assert plan.verdict is Severity.WARNING
    assert not [one for one in plan.reasons if "no state" in one.what]


@pytest.mark.parametrize("change", [larger, pool_of_a_larger_class])
def test_a_size_of_another_class_makes_the_api_servers_anew_and_is_not_called_calm(change: Change) -> None:
    plan = compared(change)
    (reason,) = (one for one in plan.reasons if "API servers" in one.what)
    assert reason.what == "2 of 2 API servers are replaced, one at a time."
    assert reason.lines[0].startswith("nodes, at most: 11 -> ")
    assert not [one for one in plan.reasons if "interrupts nothing" in one.what]


def test_the_only_member_of_an_etcd_cluster_is_not_replaced() -> None:
    def one(raw: Raw) -> None:
        raw["control_plane"]["etcd"]["members"] = 1

    plan = compared(machine_type, before=one)
    assert plan.verdict is Severity.PROBLEM
    assert "refused: The etcd cluster etcd loses its quorum: 1 member replaced of 1." in said(plan)


def test_the_difference_of_two_files_is_all_that_is_printed() -> None:
    plan = make_plan(lab(pool_maximum), changes(STACK, machine("create", "lab-api-0")), PlanTerms(base=lab()))
    assert (plan.keys, plan.counts, plan.parts, plan.new) == (1, {}, (), False)


def test_with_a_state_the_files_do_not_judge() -> None:
    plan = compared(machine_type, state=True)
    assert plan.reasons == ()
    assert plan.verdict is Severity.OK


def test_without_a_file_of_before_it_is_a_new_environment() -> None:
    plan = make_plan(lab(machine_type), changes(STACK), PlanTerms())
    assert plan.verdict is Severity.WARNING
    assert {finding.reason for finding in plan.reasons} == {
        FileReason.ONE_GATEWAY_INSTANCE,
        FileReason.ROUTES_STATIC,
        FileReason.GATEWAY_THROUGHPUT,
        FileReason.ONE_GATEWAY,
    }


def learner(**values: Any) -> Change:
    """Return the change that declares a learner of these values."""

    def change(raw: Raw) -> None:
        raw["control_plane"]["etcd"]["learner"] = {"zone": "2", "machine_type": "Standard_D16s_v5", **values}

    return change


def no_learner(raw: Raw) -> None:
    del raw["control_plane"]["etcd"]["learner"]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (None, learner(), "safe: The etcd cluster gets a learner."),
        (
            learner(),
            learner(machine_type="Standard_D32s_v5"),
            "needs care: The learner of the etcd cluster is replaced.",
        ),
        (learner(), learner(disk_gib=128), "safe: The disk of the etcd cluster's learner gets larger."),
        (learner(), no_learner, "needs care: The learner of the etcd cluster is removed."),
        (
            learner(),
            learner(zone="1"),
            "refused: The disk of the etcd cluster's learner would move to another zone, or shrink.",
        ),
        (
            learner(),
            learner(disk_gib=32),
            "refused: The disk of the etcd cluster's learner would move to another zone, or shrink.",
        ),
    ],
    ids=["new", "replaced", "larger", "gone", "moved", "smaller"],
)
def test_what_becomes_of_the_learner(before: Change | None, after: Change, verdict: str) -> None:
    # What is to be feared of a learner without backups is the cautions' own (tests/model).
    told = [one for one in said(compared(after, before=before)) if "without backups" not in one]
    assert told == [verdict]
