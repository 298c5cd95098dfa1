"""Declarations of the objects' stack, without an engine or a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.base.pool_section import Pool
from components.model import Environment, load, plan
from components.model.network import cluster_dns
from components.model.nodes.host_nodes import host_node_name
from components.model.secrets.certificates import (
    ADMINISTRATORS_GROUP,
    AUTOSCALER_USER,
    KUBELET_CLIENTS,
    NODE_CONTROLLER,
)
from components.objects import dns, dns_servers, network_policy_warning, pod_priorities, training_tolerations
from contract.annotations import FIELD_MANAGER, SKIP_AWAIT
from contract.users import BOOTSTRAPPERS, JOIN_USER
from tests.support.declared import Program, every, plain
from tests.support.hosts import STACKS
from tests.support.whole import ROLE, declare_objects


@pytest.fixture(scope="module", name="program")
def _program(production: Environment) -> Program:
    return declare_objects(production)


def kinds(program: Program, kind: str) -> dict[str, dict[str, Any]]:
    """Objects of a kind by name."""
    found = [plain(one.inputs) for one in program.clouds() if one.inputs.get("kind") == kind]
    return {one["metadata"]["name"]: one for one in found}


def test_every_object_says_whose_it_is(program: Program) -> None:
    for one in program.clouds():
        if one.type.startswith("pulumi:providers:"):
            continue
        meta = plain(one.inputs)["metadata"]
        assert meta["labels"]["app.kubernetes.io/managed-by"] == "longhaul", one.name
        assert meta["labels"]["app.kubernetes.io/name"], one.name
        assert meta["annotations"][FIELD_MANAGER] == "longhaul", one.name


def test_the_provider_keeps_nothing_of_the_machine_that_it_ran_on(
    monkeypatch: pytest.MonkeyPatch, production: Environment
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somewhere/kubeconfig")
    (provider,) = declare_objects(production).of("pulumi:providers:kubernetes")
    assert provider.inputs["kubeconfig"] == ""
    assert provider.inputs["clusterIdentifier"] == "prod"
    assert provider.inputs["upsertExistingObjects"] == provider.inputs["enablePatchForce"] == "true"


def test_nothing_among_them_is_secret(program: Program) -> None:
    """A cloud's machine joins by its identity, a host by a token that is made when it joins."""
    assert kinds(program, "Secret") == {}


def test_the_node_controller_is_told_of_the_environment(program: Program, production: Environment) -> None:
    document = kinds(program, "ConfigMap")["longhaul-environment"]["data"]["environment.json"]
    assert ROLE in document
    assert host_node_name(production, production.hosts[0].name) in document


def test_groups_are_bound_to_what_they_need_and_nothing_else(program: Program) -> None:
    bound = {
        (subject["kind"], subject["name"], binding["roleRef"]["name"])
        for binding in kinds(program, "ClusterRoleBinding").values()
        for subject in binding["subjects"]
    }
    assert bound == {
        ("Group", ADMINISTRATORS_GROUP, "cluster-admin"),
        ("Group", BOOTSTRAPPERS, "system:node-bootstrapper"),
        ("Group", "system:nodes", "system:node-proxier"),
        ("Group", KUBELET_CLIENTS, "system:kubelet-api-admin"),
        ("Group", KUBELET_CLIENTS, "system:monitoring"),
        ("User", NODE_CONTROLLER, NODE_CONTROLLER),
        ("User", JOIN_USER, JOIN_USER),
        ("User", AUTOSCALER_USER, AUTOSCALER_USER),
        ("ServiceAccount", "coredns", "longhaul:coredns"),
    }


def test_no_role_of_ours_has_a_wildcard(program: Program) -> None:
    roles = [*kinds(program, "ClusterRole").values(), *kinds(program, "Role").values()]
    assert roles
    assert "*" not in [value for role in roles for value in every(role["rules"])]


def test_dns_stands_on_two_hosts_and_zones(program: Program, production: Environment) -> None:
    spec = kinds(program, "Deployment")["coredns"]["spec"]
    pod = spec["template"]["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    (apart,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert is_selected(apart["labelSelector"], spec)
    (spread,) = pod["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("topology.kubernetes.io/zone", "ScheduleAnyway")
    assert {one["key"] for one in pod["tolerations"]} == {"longhaul.dev/system", "nvidia.com/gpu", "CriticalAddonsOnly"}
    (preferred,) = pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["preference"]["matchExpressions"][0]["values"] == ["cpu"]
    assert pod["priorityClassName"] == "system-cluster-critical"
    service = kinds(program, "Service")["kube-dns"]
    assert service["spec"]["clusterIP"] == str(plan(production).dns_service)
    assert service["spec"]["selector"] == spec["selector"]["matchLabels"]
    budget = kinds(program, "PodDisruptionBudget")["coredns"]["spec"]
    assert budget == {"maxUnavailable": 1, "selector": apart["labelSelector"]}


def is_selected(selector: dict[str, Any], deployment: dict[str, Any]) -> bool:
    """Return whether a selector of labels, and of a label that is absent, takes a Deployment's pods."""
    there = deployment["template"]["metadata"]["labels"]
    absent = {term["key"] for term in selector.get("matchExpressions", ()) if term["operator"] == "DoesNotExist"}
    return selector["matchLabels"].items() <= there.items() and absent.isdisjoint(there)


def test_each_site_with_machines_has_its_own_dns_servers(program: Program, production: Environment) -> None:
    deployments, services = kinds(program, "Deployment"), kinds(program, "Service")
    names = {f"coredns-{site}" for site in ("use1", "colo")}
    assert {name for name in deployments if name.startswith("coredns-")} == names
    addresses = cluster_dns.site_dns_addresses(plan(production))
    asked = {name.removeprefix("kube-dns-") for name in services if name.startswith("kube-dns-")}
    assert asked == {*cluster_dns.node_sites(production)} > {"use1", "colo"}, "those without servers, too"
    for site in ("use1", "colo"):
        spec = deployments[f"coredns-{site}"]["spec"]
        assert spec["replicas"] == cluster_dns.site_servers(production, cluster_dns.standing_nodes(production))[site]
        pod = spec["template"]["spec"]
        assert pod["nodeSelector"] == {"longhaul.dev/site": site}
        service = services[f"kube-dns-{site}"]["spec"]
        assert service["clusterIP"] == str(addresses[site])
        assert service["selector"] == spec["selector"]["matchLabels"]
        assert spec["template"]["metadata"]["labels"].items() >= services["kube-dns"]["spec"]["selector"].items()
        # The pods of other Deployments may be on the same machines, also those of releases before, whose terms are
        # about every server: the Deployment that runs anywhere is changed, and waited for, first.
        (apart,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        selected = {name for name, other in deployments.items() if is_selected(apart["labelSelector"], other["spec"])}
        assert selected == {f"coredns-{site}"}
    (made,) = [item for item in program.clouds() if item.name == "coredns-use1" and item.type.endswith(":Deployment")]
    assert "coredns" in made.after
    # A pod of two budgets could not be evicted.
    budgets = [budget["spec"]["selector"] for budget in kinds(program, "PodDisruptionBudget").values()]
    for name, deployment in deployments.items():
        assert sum(is_selected(budget, deployment["spec"]) for budget in budgets) == name.startswith("coredns")


def test_a_changed_corefile_rolls_out() -> None:
    environment = load(STACKS / "Pulumi.lab.yaml")
    servers = dns_servers.DnsServers(replicas=2)
    first, second = (
        dns_servers.deployment_spec(environment, servers, config=config)["template"] for config in ("one", "two")
    )
    assert first != second


def pool(**values: Any) -> Pool:
    return Pool.model_validate({"site": "use1", "machine_type": "m7i.4xlarge", "max": 9, **values})


@pytest.mark.parametrize(
    ("pools", "hosts", "standing"),
    [
        ({"cpu": pool(min=2)}, False, 2),
        ({"cpu": pool(min=0)}, False, 0),
        ({"cpu": pool(min=1)}, True, None),
        ({"system": pool(min=2, taints=[{"key": "longhaul.dev/system", "effect": "NoSchedule"}])}, False, 2),
        ({"gpu": pool(min=1, taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])}, False, 1),
        ({"spot": pool(min=3, taints=[{"key": "longhaul.dev/spot", "effect": "NoSchedule"}])}, False, 0),
    ],
)
def test_dns_is_waited_for_where_machines_always_run(
    production: Environment, pools: dict[str, Pool], hosts: bool, standing: int | None
) -> None:
    environment = production.model_copy(update={"pools": pools, "hosts": production.hosts if hosts else ()})
    expected = 1 + len(production.hosts) if standing is None else standing
    assert sum(cluster_dns.standing_nodes(environment).values()) == expected
    deployment = kinds(declare_objects(environment), "Deployment")["coredns"]
    assert deployment["spec"]["replicas"] == (1 if expected == 1 else 2)
    assert (SKIP_AWAIT in deployment["metadata"]["annotations"]) is (expected == 0)


def test_the_corefile_is_the_plans(production: Environment) -> None:
    text = dns.corefile(production, plan(production))
    assert f"kubernetes cluster.local {production.supernet} {{" in text
    assert "forward . /etc/resolv.conf" in text
    for plugin in ("health", "ready", "cache 30", "loadbalance", "errors"):
        assert f"    {plugin}" in text


def test_priorities_are_in_order(program: Program) -> None:
    names = [one["metadata"]["name"] for one in kinds(program, "PriorityClass").values()]
    values = {one["metadata"]["name"]: one for one in kinds(program, "PriorityClass").values()}
    ordered = sorted(names, key=lambda name: -values[name]["value"])
    assert ordered == [one.name for one in pod_priorities.CLASSES]
    assert all(abs(one["value"]) < 1_000_000_000 for one in values.values())
    # A pod without a class has priority 0: more than borrowed capacity, less than what a team owns.
    assert values["longhaul-training-borrow"]["value"] < 0 < values["longhaul-training"]["value"]
    assert values["longhaul-balloon"]["preemptionPolicy"] == "Never"


def test_training_outlives_more_than_the_default(program: Program) -> None:
    policy = kinds(program, "MutatingAdmissionPolicy")["longhaul-outlive-network-cuts"]
    assert policy["spec"]["mutations"][0]["jsonPatch"]["expression"] == training_tolerations.mutation()
    assert training_tolerations.TOLERATION_S > training_tolerations.DEFAULT_TOLERATION_S


def test_pods_in_their_nodes_network_are_refused_but_where_allowed(program: Program) -> None:
    policy = kinds(program, "ValidatingAdmissionPolicy")["longhaul-host-network"]
    exempt = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert {(one["operator"], *one["values"]) for one in exempt} == {("NotIn", "kube-system"), ("NotIn", "allowed")}


def test_every_admission_policy_is_in_force(program: Program) -> None:
    policies = kinds(program, "ValidatingAdmissionPolicy")
    for name, binding in kinds(program, "ValidatingAdmissionPolicyBinding").items():
        action, failure = ("Warn", "Ignore") if name == network_policy_warning.NAME else ("Deny", "Fail")
        assert binding["spec"] == {"policyName": name, "validationActions": [action]}
        assert policies.pop(name)["spec"]["failurePolicy"] == failure
    assert policies == {}
    policies = kinds(program, "MutatingAdmissionPolicy")
    for name, binding in kinds(program, "MutatingAdmissionPolicyBinding").items():
        assert binding["spec"]["policyName"] == name
        assert policies.pop(name)["spec"]["failurePolicy"] == "Fail"
    assert policies == {}


def test_events_that_anybody_writes_have_the_share_of_lists_in_both_their_groups(program: Program) -> None:
    spec = kinds(program, "FlowSchema")["longhaul-events"]["spec"]
    assert spec["priorityLevelConfiguration"] == {"name": "longhaul-lists"}
    (rule,) = spec["rules"]
    (what,) = rule["resourceRules"]
    assert set(what["apiGroups"]) == {"", "events.k8s.io"}
    assert {"create", "update", "patch"} <= set(what["verbs"])
    assert (
        900 < spec["matchingPrecedence"] < kinds(program, "FlowSchema")["longhaul-lists"]["spec"]["matchingPrecedence"]
    )
