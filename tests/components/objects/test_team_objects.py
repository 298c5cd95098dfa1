"""Objects of teams, without an engine: queues by kind of capacity, people's rights, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from components.model import Environment
from components.model.autoscaler.section import Autoscaler
from components.model.identity.section import Identity
from components.model.nodes.host_nodes import host_nodes
from components.model.nodes.labels import host_labels, pool_labels
from components.model.pools.capacity_kinds import kinds
from components.model.teams.section import Share, Team
from components.objects.pod_priorities import CLASSES
from components.objects.queue_managers import CHECK
from components.objects.queue_quotas import _guaranteed, cluster_queue, cohort
from contract.labels import KIND_LABEL
from tests.model.make import issuer
from tests.support.declared import Program, plain
from tests.support.whole import declare_objects

TEAMS = {
    "visual": {
        "groups": ["corp:visual", "corp:interns"],
        "priority": 10,
        "shares": {"h100": {"gpus": 64, "borrow": 128}, "cpu": {"cores": 500, "lend": 100}},
    },
    "speech": {
        "groups": ["corp:speech"],
        "shares": {"h100": {"gpus": 128, "lend": 8}, "h100-spot": {}, "a100-40gb": {"gpus": 8, "cores": 32}},
    },
}
GROUPS = {"corp:auditors": {"namespaces": {"visual": "view", "research": "view"}}}


@pytest.fixture(scope="module", name="environment")
def _environment(production: Environment) -> Environment:
    identity = Identity.model_validate({"issuers": {"corp": issuer()}, "groups": GROUPS})
    teams = {name: Team.model_validate(one) for name, one in TEAMS.items()}
    return production.model_copy(update={"identity": identity, "teams": teams})


@pytest.fixture(scope="module", name="program")
def _program(environment: Environment) -> Program:
    return declare_objects(environment)


def objects(program: Program, kind: str, *, namespace: str | None = None) -> dict[str, dict[str, Any]]:
    """Objects of a kind by name, in the cluster or in one namespace."""
    found = [plain(one.inputs) for one in program.clouds() if one.inputs.get("kind") == kind]
    return {one["metadata"]["name"]: one for one in found if one["metadata"].get("namespace") == namespace}


def quotas(
    spec: dict[str, Any], *, of: tuple[str, ...] = ("cpu", "nvidia.com/gpu")
) -> dict[str, dict[str, dict[str, str]]]:
    """Quotas by flavor and resource, of cores and GPUs or of others."""
    (group,) = spec["resourceGroups"]
    for flavor in group["flavors"]:
        assert [one["name"] for one in flavor["resources"]] == group["coveredResources"]
    return {
        flavor["name"]: {
            one["name"]: {key: value for key, value in one.items() if key != "name"}
            for one in flavor["resources"]
            if one["name"] in of
        }
        for flavor in group["flavors"]
    }


def test_a_team_has_what_it_is_guaranteed_and_limits_of_borrowing_and_lending(program: Program) -> None:
    queues = objects(program, "ClusterQueue")
    assert quotas(queues["visual"]["spec"]) == {
        "cpu": {
            "cpu": {"nominalQuota": "500", "lendingLimit": "100"},
            "nvidia.com/gpu": {"nominalQuota": "0", "borrowingLimit": "0"},
        },
        "h100": {
            # 24 cores go with each GPU of the largest type.
            "cpu": {"nominalQuota": "1536", "borrowingLimit": "3072"},
            "nvidia.com/gpu": {"nominalQuota": "64", "borrowingLimit": "128"},
        },
    }
    assert quotas(queues["speech"]["spec"]) == {
        "h100": {
            "cpu": {"nominalQuota": "3072", "lendingLimit": "192"},
            "nvidia.com/gpu": {"nominalQuota": "128", "lendingLimit": "8"},
        },
        "h100-spot": {"cpu": {"nominalQuota": "0"}, "nvidia.com/gpu": {"nominalQuota": "0"}},
        "a100-40gb": {"cpu": {"nominalQuota": "32"}, "nvidia.com/gpu": {"nominalQuota": "8"}},
    }


def test_what_nobody_is_guaranteed_is_the_cohort_s(program: Program) -> None:
    (cohort,) = objects(program, "Cohort").values()
    rest = quotas(cohort["spec"])
    assert list(rest) == ["cpu", "h100", "h100-spot", "a100-40gb"]
    assert rest["h100"]["nvidia.com/gpu"] == {"nominalQuota": str(8 * (128 + 64 + 64) - 64 - 128)}
    assert rest["h100-spot"]["nvidia.com/gpu"] == {"nominalQuota": "512"}
    assert rest["a100-40gb"]["cpu"] == {"nominalQuota": str(100 * 96 - 32)}
    assert {one["spec"]["cohortName"] for one in objects(program, "ClusterQueue").values()} == {
        cohort["metadata"]["name"]
    }


def test_memory_goes_with_gpus(program: Program) -> None:
    """A job that asks for little else would have the whole of a machine with GPUs."""
    queues, (cohort,) = objects(program, "ClusterQueue"), objects(program, "Cohort").values()
    visual, speech, rest = (
        {kind: own["memory"] for kind, own in quotas(one["spec"], of=("memory",)).items()}
        for one in (queues["visual"], queues["speech"], cohort)
    )
    # The largest type has 2,048 GiB for its 8 GPUs.
    assert visual == {
        "cpu": {"nominalQuota": "1P"},
        "h100": {"nominalQuota": f"{64 * 256}Gi", "borrowingLimit": f"{128 * 256}Gi"},
    }
    assert speech["h100"] == {"nominalQuota": f"{128 * 256}Gi", "lendingLimit": f"{8 * 256}Gi"}
    assert speech["h100-spot"] == {"nominalQuota": "0Gi"}
    assert rest["cpu"] == {"nominalQuota": "1P"}
    assert rest["h100"] != rest["cpu"]


def test_memory_goes_with_cores_where_these_are_more_and_is_nobody_s_of_hosts(environment: Environment) -> None:
    known = kinds(environment)["h100"]
    share = Share(cores=256, borrow=0)
    assert _guaranteed(share, known)["memory"] == {"nominalQuota": f"{11 * 256}Gi", "borrowingLimit": "0Gi"}
    assert "memory" not in _guaranteed(share, replace(known, memory_gib=None))


def test_an_owner_takes_its_own_back_and_a_borrower_only_from_lower_borrowers(program: Program) -> None:
    for queue in objects(program, "ClusterQueue").values():
        assert queue["spec"]["preemption"]["reclaimWithinCohort"] == "Any"
        assert queue["spec"]["preemption"]["borrowWithinCohort"] == {"policy": "LowerPriority"}
    values = {name: one["value"] for name, one in objects(program, "WorkloadPriorityClass").items()}
    assert values == {"visual": 10, "speech": 0}


def test_a_flavor_is_a_kind_that_every_node_of_it_is_labelled_with(program: Program, environment: Environment) -> None:
    flavors = objects(program, "ResourceFlavor")
    assert {name: one["spec"]["nodeLabels"] for name, one in flavors.items()} == {
        kind: {KIND_LABEL: kind} for kind in ("cpu", "h100", "h100-spot", "a100-40gb")
    }
    labels = {name: pool_labels(environment, name)[KIND_LABEL] for name in environment.pools}
    assert {name for name, kind in labels.items() if kind == "h100"} == {"h100", "h100-west", "h100-azure"}
    assert {"key": "longhaul.dev/spot", "operator": "Exists", "effect": "NoSchedule"} in flavors["h100-spot"]["spec"][
        "tolerations"
    ]
    assert "tolerations" not in flavors["cpu"]["spec"]


def test_a_host_is_of_the_kind_of_its_gpus(environment: Environment) -> None:
    from components.model import plan

    (place, *_) = (node.place for node in host_nodes(environment, plan(environment)).values())
    assert host_labels(place)[KIND_LABEL] == "cpu"
    assert host_labels(place, gpus=8)[KIND_LABEL] == "gpu"
    assert host_labels(place, gpus=8, gpu_model="A100 80GB")[KIND_LABEL] == "a100-80gb"


def test_a_team_s_people_are_bound_in_their_namespace_alone(program: Program) -> None:
    for team, declared in TEAMS.items():
        bound = objects(program, "RoleBinding", namespace=team)
        own = bound["longhaul:team"]
        assert own["roleRef"]["name"] == "edit"
        assert [subject["name"] for subject in own["subjects"]] == declared["groups"]
    (everywhere,) = (one for name, one in objects(program, "ClusterRoleBinding").items() if name == "longhaul:teams")
    assert [one["name"] for one in everywhere["subjects"]] == ["corp:visual", "corp:interns", "corp:speech"]
    rules = objects(program, "ClusterRole")["longhaul:teams"]["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_others_may_have_rights_in_a_team_s_namespace_which_is_made_once(program: Program) -> None:
    names = [plain(one.inputs)["metadata"]["name"] for one in program.clouds() if one.inputs.get("kind") == "Namespace"]
    assert sorted(names) == ["longhaul-queues", "research", "speech", "visual"]
    bound = objects(program, "RoleBinding", namespace="visual")
    assert ("corp:auditors", "view") in {(one["subjects"][0]["name"], one["roleRef"]["name"]) for one in bound.values()}


def test_a_namespace_is_its_team_s_and_has_limits(program: Program) -> None:
    labels = objects(program, "Namespace")["visual"]["metadata"]["labels"]
    assert (labels["longhaul.dev/team"], labels["pod-security.kubernetes.io/enforce"]) == ("visual", "baseline")
    (limits,) = objects(program, "LimitRange", namespace="visual").values()
    least, requests = {"cpu": "10m", "memory": "16Mi"}, {"cpu": "1", "memory": "2Gi"}
    assert limits["spec"]["limits"] == [{"type": "Container", "min": least, "defaultRequest": requests}]
    kept = objects(program, "ResourceQuota", namespace="visual")["longhaul-priorities"]["spec"]
    (scope,) = kept["scopeSelector"]["matchExpressions"]
    assert kept["hard"] == {"pods": "0"}
    assert "longhaul-training" in scope["values"]
    assert {*scope["values"]} == {one.name for one in CLASSES if one.preempts and one.value > 0}
    apart = objects(program, "ResourceQuota", namespace="visual")["longhaul-affinity"]["spec"]
    assert apart["hard"] == {"pods": "0"}
    counts = objects(program, "ResourceQuota", namespace="visual")["longhaul"]["spec"]["hard"]
    assert (counts["pods"], counts["services"]) == ("20k", "1500")
    assert [amount for amount in counts.values() if amount.endswith("000")] == [], "Kubernetes stores them as k"
    assert apart["scopeSelector"]["matchExpressions"] == [
        {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
    ]


def test_without_teams_there_is_none_of_it(production: Environment) -> None:
    program = declare_objects(production)
    assert not objects(program, "ClusterQueue")
    assert "longhaul:teams" not in objects(program, "ClusterRole")


@pytest.mark.parametrize(
    ("autoscaler", "asked"), [(None, False), (Autoscaler(dry_run=True), False), (Autoscaler(), True)]
)
def test_jobs_ask_for_nodes_where_somebody_answers(
    environment: Environment, autoscaler: Autoscaler | None, asked: bool
) -> None:
    queues = objects(declare_objects(environment.model_copy(update={"autoscaler": autoscaler})), "ClusterQueue")
    checks = {"admissionChecks": [{"name": CHECK}]} if asked else None
    assert {one["spec"].get("admissionChecksStrategy") == checks for one in queues.values()} == {True}


def test_resources_of_own_devices_are_covered_without_a_limit(environment: Environment) -> None:
    device = "smarter-devices/fuse"
    changed = environment.model_copy(update={"extended_resources": (device,)})
    for spec in (cohort(changed, kinds(changed)), *(cluster_queue(changed, name, kinds(changed)) for name in TEAMS)):
        for amounts in quotas(spec, of=(device,)).values():
            assert amounts == {device: {"nominalQuota": "1P"}}
