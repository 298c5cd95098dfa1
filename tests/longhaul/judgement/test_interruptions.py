"""Changes that need care, and changes that do not."""

from __future__ import annotations

import pytest

from clouds.base.findings import Severity
from contract.reasons.plan import PlanReason
from longhaul.judgement.finding import PlanFinding
from tests.longhaul.judgement.steps import GROUP, OWN, TEMPLATE, VM, judged, lab, machine, said, step

SITE = "longhaul:Cluster$longhaul:aws:WorkerSite$longhaul:aws:SiteNetwork"
RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("azure-native:network:LoadBalancer", "The load balancer lab-x changes."),
        ("azure-native:network:VirtualNetworkGateway", "The VPN gateway lab-x changes."),
        ("aws:ec2/vpnConnection:VpnConnection", "The tunnel part lab-x changes."),
        ("aws:ec2/natGateway:NatGateway", "The egress gateway lab-x changes."),
        ("azure-native:network:VirtualNetworkPeering", "The peering lab-x changes."),
        ("aws:ec2/route:Route", "The route lab-x changes."),
        ("azure-native:network:NetworkSecurityGroup", "The security rule lab-x changes."),
        ("azure-native:keyvault:Vault", "The vault lab-x changes."),
        (f"{OWN}CertificateAuthority", "The authority lab-x changes."),
        (f"{OWN}Certificate", "The certificate lab-x changes."),
        ("azure-native:privatedns:PrivateRecordSet", "The name lab-x changes."),
        ("azure-native:authorization:RoleAssignment", "The right lab-x changes."),
    ],
)
def test_what_others_depend_on_needs_care(kind: str, what: str) -> None:
    plan = judged(step("update", kind, "lab-x", {"a": 1}, {"a": 2}))
    assert said(plan) == [f"needs care: {what}"]
    assert plan.reasons[0].why
    assert plan.reasons[0].do


@pytest.mark.parametrize("kind", [TEMPLATE, GROUP, VM, f"{OWN}Readiness"])
def test_what_only_new_machines_or_nobody_sees_is_safe(kind: str) -> None:
    assert judged(step("update", kind, "lab-cpu-x", {"a": 1}, {"a": 2})).verdict is Severity.OK


def test_tags_interrupt_nothing() -> None:
    tagged = step("update", "azure-native:network:LoadBalancer", "lab-api", {"tags": {}}, {"tags": {"team": "ml"}})
    assert judged(tagged).verdict is Severity.OK


def test_what_nobody_knows_needs_care_when_it_goes() -> None:
    assert said(judged(step("delete", "aws:new/thing:Thing", "lab-x"))) == ["needs care: The resource lab-x goes."]
    assert judged(step("create", "aws:new/thing:Thing", "lab-x")).verdict is Severity.OK


def test_a_component_is_nothing_by_itself() -> None:
    assert judged(step("delete", "longhaul:aws:Pool", "lab-x", custom=False)).verdict is Severity.OK


def test_a_new_rule_needs_care_where_there_is_somebody() -> None:
    rule = step("create", RULE, "lab-use1-network-nodes-in", after={"cidrIpv4": "0.0.0.0/0"}, within=SITE)
    vpc = step("create", "aws:ec2/vpc:Vpc", "lab-use1-network-vpc", within=SITE)
    assert said(judged(rule)) == ["needs care: The security rule lab-use1-network-nodes-in is new."]
    assert said(judged(rule, vpc)) == []


def test_api_servers_are_replaced_behind_their_load_balancer() -> None:
    (reason,) = judged(*(machine("replace", f"lab-api-{index}") for index in range(2))).reasons
    assert reason.what == "2 of 2 API servers are replaced, one at a time."
    assert "leaves the load balancer first" in reason.why


def test_the_only_api_server_is_missed() -> None:
    alone = lab(lambda raw: raw["control_plane"]["api"].update(servers=1))
    (reason,) = judged(machine("replace", "lab-api-0"), environment=alone).reasons
    assert reason.what == "1 of 1 API server is replaced."
    assert "the API does not answer" in reason.why


def test_what_belongs_to_a_machine_goes_with_it() -> None:
    steps = [
        step("delete", VM, "lab-api-2"),
        step("delete", "azure-native:privatedns:PrivateRecordSet", "lab-api-2-address"),
        step("delete", f"{OWN}Certificate", "lab-api-2-apiserver"),
        step("delete", "longhaul:azure:ControlMachine", "lab-api-2", custom=False),
    ]
    assert said(judged(*steps)) == ["needs care: 1 of 3 API servers goes."]


def test_a_pool_that_goes_is_one_reason() -> None:
    tags = {"longhaul-pool": "old", "longhaul-site": "use1"}
    group = {"minSize": 0, "maxSize": 1, "tags": [{"key": key, "value": value} for key, value in tags.items()]}
    steps = [
        step("delete", GROUP, "lab-old-group", group),
        step("delete", TEMPLATE, "lab-old-template", {"instanceType": "m7i.xlarge", "tags": tags}),
    ]
    assert said(judged(*steps)) == ["needs care: The pool old in use1 goes."]


def test_a_site_that_goes_is_one_reason() -> None:
    tags = {"tags": {"longhaul-site": "old"}}
    steps = [
        step("delete", "aws:ec2/vpc:Vpc", "lab-old-network-vpc", {"cidrBlock": "10.67.0.0/16", **tags}, within=SITE),
        step("delete", "aws:ec2/natGateway:NatGateway", "lab-old-network-nat-a", tags, within=SITE),
        step("delete", "aws:ec2/vpnConnection:VpnConnection", "lab-links-weu-old-0-c", within="longhaul:Links"),
    ]
    assert said(judged(*steps)) == ["needs care: The site old goes, with 2 resources and its links."]


def test_what_is_replaced_for_want_of_knowledge_may_stay() -> None:
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    kind = "azure-native:authorization:RoleAssignment"
    sides = {"principalId": "a"}, {"principalId": unknown}
    (reason,) = judged(step("replace", kind, "lab-x", *sides, detailed={"principalId": "update-replace"})).reasons
    assert reason.why.endswith("It stays as it is if what a preview cannot know turns out to be the same.")


def test_a_policys_word_counts() -> None:
    finding = PlanFinding(
        reason=PlanReason.RULE_CHANGES,
        severity=Severity.PROBLEM,
        what="A bucket is public.",
        where=("lab-b",),
        why="Anybody reads it.",
        do="x",
    )
    plan = judged(policy=(finding,))
    assert plan.verdict is Severity.PROBLEM
    assert plan.policy == (finding,)
