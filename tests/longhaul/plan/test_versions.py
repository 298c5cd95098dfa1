"""Plans of other versions of Kubernetes and etcd: steps, ways back, kubelets."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import pytest
import yaml

from clouds.base.findings import Severity
from components.model import Environment
from longhaul.plan.plan import Plan, Terms, make_plan
from tests.longhaul.plan.steps import VM, Step, changes, judged, lab, stack, step

SERVERS = ("lab-api-0", "lab-api-1")
MEMBERS = tuple(f"lab-etcd-{index}" for index in range(3))
EVENTS = tuple(f"lab-events-{index}" for index in range(3))


def wanted(**versions: str) -> Environment:
    return lab(lambda raw: raw.update(versions=versions))


def machines(running: Mapping[str, str]) -> list[Step]:
    """Return the replacement of machines that run these versions."""
    return [
        step(
            "replace",
            VM,
            name,
            {"osProfile": {"customData": user_data(version)}},
            {"osProfile": {"customData": user_data("0.0.0")}},
            resourceHooks={"BeforeDelete": [f"{name}-keeps-quorum"]},
        )
        for name, version in running.items()
    ]


def user_data(version: str) -> str:
    files = [{"path": "/etc/longhaul/node.json", "content": json.dumps({"version": version})}]
    return base64.b64encode(f"#cloud-config\n{yaml.safe_dump({'write_files': files})}".encode()).decode()


def of_state(running: Mapping[str, str], environment: Environment) -> Plan:
    return judged(stack("lab"), *machines(running), environment=environment)


def refusals(plan: Plan, check: str) -> list[str]:
    return [one.what for one in plan.reasons if one.check == check and one.severity is Severity.PROBLEM]


@pytest.mark.parametrize(
    ("running", "versions", "refused"),
    [
        (dict.fromkeys(SERVERS, "1.36.4"), {"kubernetes": "1.37.2"}, []),
        (
            dict.fromkeys(SERVERS, "1.36.4"),
            {"kubernetes": "1.38.0"},
            ["Kubernetes would go from 1.36.4 to 1.38.0."],
        ),
        (dict.fromkeys(SERVERS, "1.37.2"), {"kubernetes": "1.36.4"}, ["Kubernetes would go from 1.37.2 to 1.36.4."]),
        # One of two is as it is wanted: an upgrade that is taken back.
        ({"lab-api-0": "1.37.2"}, {"kubernetes": "1.36.4"}, []),
        (dict.fromkeys(MEMBERS, "3.6.8"), {"etcd": "3.7.0"}, ["etcd would go from 3.6.8 to 3.7.0."]),
        (dict.fromkeys(MEMBERS, "3.6.11"), {"etcd": "3.7.0"}, []),
        ({"lab-etcd-0": "3.7.0"}, {"etcd": "3.6.11"}, []),
        # The main cluster has moved, the other has not: each is judged by itself.
        (dict.fromkeys(MEMBERS, "3.7.0"), {"etcd": "3.6.11"}, ["etcd would go from 3.7.0 to 3.6.11."]),
        # Both are the same: told once.
        (dict.fromkeys((*MEMBERS, *EVENTS), "3.5.0"), {"etcd": "3.7.0"}, ["etcd would go from 3.5.0 to 3.7.0."]),
    ],
)
def test_a_step_is_judged_by_what_each_machine_runs(
    running: dict[str, str], versions: dict[str, str], refused: list[str]
) -> None:
    plan = of_state(running, wanted(**versions))
    assert refusals(plan, "steps") == refused
    assert (plan.verdict is Severity.PROBLEM) is bool(refused)


@pytest.mark.parametrize(
    ("running", "versions", "what", "why"),
    [
        (SERVERS, {"kubernetes": "1.37.2"}, "Kubernetes goes from 1.36.4 to 1.37.2.", "1.34 is the oldest"),
        (SERVERS[:1], {"kubernetes": "1.35.9"}, "Kubernetes goes back from 1.35.9 and 1.36.4 to 1.35.9.", "still run"),
        (MEMBERS, {"etcd": "1.37.0"}, "etcd goes from 1.36.4 to 1.37.0.", "no way back but a backup"),
    ],
)
def test_a_step_that_is_allowed_says_what_it_means(
    running: tuple[str, ...], versions: dict[str, str], what: str, why: str
) -> None:
    plan = of_state(dict.fromkeys(running, "1.36.4"), wanted(**versions))
    (reason,) = (one for one in plan.reasons if one.what == what)
    assert reason.severity is Severity.WARNING
    assert why in reason.why


def test_what_stays_and_a_patch_say_nothing_of_steps() -> None:
    for environment in (lab(), wanted(kubernetes="1.36.4")):
        plan = of_state(dict.fromkeys(SERVERS, "1.36.4"), environment)
        assert not [one for one in plan.reasons if "goes" in one.what or one.check in ("steps", "skew")]


def test_without_a_state_the_earlier_file_is_what_runs() -> None:
    new = step("create", "pulumi:pulumi:Stack", "longhaul-lab")
    for version, refused in (("1.37.2", []), ("1.38.0", ["Kubernetes would go from 1.36.4 to 1.38.0."])):
        made = make_plan(wanted(kubernetes=version), changes(new), Terms(base=wanted(kubernetes="1.36.4")))
        assert refusals(made, "steps") == refused


@pytest.mark.parametrize(("kubelet", "refused"), [("1.36.4", False), ("1.37.2", True), ("1.32.0", True)])
def test_an_image_whose_kubelet_is_not_served_is_refused(kubelet: str, refused: bool) -> None:
    plan = judged(stack("lab"), environment=wanted(kubernetes="1.36.4"), images={"use1": {"kubernetes": kubelet}})
    assert bool(refusals(plan, "skew")) is refused
