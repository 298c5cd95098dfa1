"""Plans of other versions of Kubernetes and etcd: steps, ways back, kubelets."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import pytest
import yaml

from clouds.base.findings import Severity
from components.model import Environment
from components.model.versions.section import companion_versions, offered_versions, pinned
from longhaul.judgement.deprecated_apis import Apis, DeprecatedApi
from longhaul.judgement.plan import Plan, PlanTerms, make_plan
from tests.longhaul.judgement.steps import VM, Step, changes, judged, lab, stack, step

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
        (MEMBERS, {"etcd": "1.37.0"}, "etcd goes from 1.36.4 to 1.37.0.", "only a backup leads back"),
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
        made = make_plan(wanted(kubernetes=version), changes(new), PlanTerms(base=wanted(kubernetes="1.36.4")))
        assert refusals(made, "steps") == refused


@pytest.mark.parametrize(("kubelet", "refused"), [("1.36.4", False), ("1.37.2", True), ("1.32.0", True)])
def test_an_image_whose_kubelet_is_not_served_is_refused(kubelet: str, refused: bool) -> None:
    plan = judged(stack("lab"), environment=wanted(kubernetes="1.36.4"), images={"use1": {"kubernetes": kubelet}})
    assert bool(refusals(plan, "skew")) is refused


USED = Apis(
    used=(
        DeprecatedApi(name="flowschemas.flowcontrol.apiserver.k8s.io/v1beta3", removed=(1, 37)),
        DeprecatedApi(name="endpoints/v1", removed=None),
        DeprecatedApi(name="ingresses.networking.k8s.io/v1beta1", removed=(1, 38)),
    )
)


def test_an_api_in_use_that_the_version_takes_away_refuses_and_later_ones_are_told() -> None:
    running = dict.fromkeys(SERVERS, "1.36.4")
    plan = judged(stack("lab"), *machines(running), environment=wanted(kubernetes="1.37.2"), apis=lambda: USED)
    taken = "flowschemas.flowcontrol.apiserver.k8s.io/v1beta3 is in use, and Kubernetes 1.37 removes it."
    assert refusals(plan, "apis") == [taken]
    told = [one.what for one in plan.reasons if one.severity is Severity.WARNING]
    assert "endpoints/v1 is in use, and a later version removes it." in told
    assert "ingresses.networking.k8s.io/v1beta1 is in use, and Kubernetes 1.38 removes it." in told


def test_who_could_not_be_asked_is_told_and_nobody_is_asked_without_a_step() -> None:
    def asked() -> Apis:
        raise AssertionError("nobody is to be asked")

    plan = of_state(dict.fromkeys(SERVERS, "1.36.4"), wanted(kubernetes="1.37.2"))
    assert "It is unknown whether removed APIs are in use: no cluster was asked." in [one.what for one in plan.reasons]
    for running, versions in (("1.36.2", {"kubernetes": "1.36.4"}), ("3.6.11", {"etcd": "3.7.0"})):
        steps = machines(dict.fromkeys(SERVERS if "kubernetes" in versions else MEMBERS, running))
        judged(stack("lab"), *steps, environment=wanted(**versions), apis=asked)


def test_a_later_etcd_that_a_version_names_is_told() -> None:
    first, *_, newest = offered_versions("kubernetes")
    running = machines(dict.fromkeys(SERVERS, first))
    named = companion_versions(newest)["etcd"]
    for etcd, told in ((pinned("etcd"), True), (named, False)):
        plan = judged(stack("lab"), *running, environment=wanted(kubernetes=newest, etcd=etcd))
        assert any(f"names etcd {named}" in one.why for one in plan.reasons) is told
