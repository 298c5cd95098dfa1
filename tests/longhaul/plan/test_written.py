"""The text of a plan: sorted by place, and as a comment that GitHub accepts."""

from __future__ import annotations

import json

import pytest

from clouds.base.findings import Severity
from contract.reasons.plan import PlanReason
from longhaul.judgement.environment_parts import ENVIRONMENT, LINKS
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.resource_lines import blocks, summary
from longhaul.judgement.text import to_json, to_text
from longhaul.plan.markdown import to_markdown
from longhaul.report.markdown import LONGEST
from longhaul.report.resource_types import type_name
from tests.longhaul.judgement.steps import GROUP, OWN, TEMPLATE, VM, judged, machine, step

CONTROL = "longhaul:Cluster$longhaul:ControlPlane"
SITE = "longhaul:Cluster$longhaul:azure:SiteNetwork"
NSG = "azure-native:network:NetworkSecurityGroup"


@pytest.mark.parametrize(
    ("kind", "name", "within", "place"),
    [
        (VM, "lab-etcd-0", None, ("weu", "lab-etcd-0", "machine")),
        (f"{OWN}Readiness", "lab-etcd-0-ready", CONTROL, ("weu", "lab-etcd-0", "machine")),
        (f"{OWN}Certificate", "lab-api-1-apiserver", CONTROL, ("weu", "lab-api-1", "machine")),
        (f"{OWN}CertificateAuthority", "lab-control-plane-ca-etcd", CONTROL, ("weu", "", "")),
        ("azure-native:network:LoadBalancer", "lab-api", CONTROL, ("weu", "", "")),
        (NSG, "lab-weu-etcd-rules", SITE, ("weu", "", "")),
        (GROUP, "lab-cpu-group", None, ("use1", "cpu", "pool")),
        (TEMPLATE, "lab-cpu-template", None, ("use1", "cpu", "pool")),
        ("aws:ec2/vpc:Vpc", "lab-use1-network-vpc", "longhaul:aws:WorkerSite", ("use1", "", "")),
        ("aws:ec2/route:Route", "lab-links-use1-rack-use1-0", "longhaul:Links", (LINKS, "use1-rack", "link")),
        ("aws:ec2/vpnGateway:VpnGateway", "lab-links-use1-gateway", "longhaul:Links", ("use1", "", "")),
        (f"{OWN}TunnelKey", "lab-tunnel-weu-rack-gw-0", None, (LINKS, "weu-rack", "link")),
        ("aws:iam/role:Role", "lab-node-controller-role", "longhaul:aws:NodeControllerAccess", (ENVIRONMENT, "", "")),
    ],
)
def test_where_a_resource_belongs(kind: str, name: str, within: str | None, place: tuple[str, str, str]) -> None:
    (part,) = judged(step("update", kind, name, {"a": 1}, {"a": 2}, within=within)).parts
    assert (part.place.site, part.place.part, part.place.kind) == place


def test_places_come_in_the_files_order() -> None:
    steps = [
        step("update", GROUP, "lab-cpu-group", {"a": 1}, {"a": 2}),
        step("update", "aws:ec2/route:Route", "lab-links-use1-rack-0", {"a": 1}, {"a": 2}, within="longhaul:Links"),
        step("update", NSG, "lab-weu-etcd-rules", {"a": 1}, {"a": 2}, within=SITE),
        *(step("update", VM, f"lab-api-{index}", {"a": index}, {"a": -1}) for index in (10, 9)),
        step("update", "aws:iam/role:Role", "lab-node-controller-role", {"a": 1}, {"a": 2}),
    ]
    assert [block.title for block in blocks(judged(*steps))] == [
        ENVIRONMENT,
        "weu",
        "use1: pool cpu",
        "link use1-rack",
    ]


def test_machines_to_which_the_same_happens_are_told_once() -> None:
    (block,) = blocks(judged(*(machine("replace", f"lab-etcd-{index}") for index in range(3))))
    assert block.title == "weu: machines lab-etcd-0, lab-etcd-1, lab-etcd-2"
    assert block.counts == "3 replaced"


def test_many_alike_resources_are_told_by_number() -> None:
    steps = [
        step("update", NSG, f"lab-weu-{index}", {"tags": {}}, {"tags": {"a": "b"}}, within=SITE) for index in range(5)
    ]
    (block,) = blocks(judged(*steps))
    assert block.lines == ("~ changed: 5 NetworkSecurityGroup", "    tags.a: - -> b")


def test_resources_of_the_program_are_called_by_what_they_are() -> None:
    (block,) = blocks(judged(*(step("create", f"{OWN}Founded", f"lab-{role}-founded") for role in ("etcd", "events"))))
    assert block.lines == ("+ made: 2 EtcdBootstrap",)
    assert type_name("pulumi-python:dynamic/longhaul:Held") == "ImmutableSettings"
    assert type_name("azure-native:keyvault:Secret") == "Secret"


def test_nothing_happens() -> None:
    plan = judged()
    assert plan.verdict is Severity.OK
    assert summary(plan) == "nothing happens"
    assert to_text(plan).startswith("lab: safe\nnothing happens; ")


def test_a_comment_is_cut_where_github_would_refuse_it_and_says_so() -> None:
    steps = [
        step("update", NSG, f"lab-weu-{number}", {"rules": [{"name": "a", "text": "x" * 90}]},
             {"rules": [{"name": "a", "text": f"{number} " + "y" * 80}]}, within=SITE)
        for number in range(400)
    ]  # fmt: skip
    steps += [machine("replace", f"lab-etcd-{index}") for index in range(3)]
    written = to_markdown(judged(*steps))
    assert len(written) <= LONGEST
    assert written.startswith("## ⚠️ Plan for `lab`: needs care")
    assert "_Shortened, since a comment holds 65,536 characters: weu." in written
    assert "lab-etcd-0" in written
    assert written.count("<details>") == written.count("</details>")
    assert written.count("```") % 2 == 0


def test_a_comment_is_text_and_nothing_else() -> None:
    evil = "<img src=x> @everyone [a](b) | ``` </details>"
    finding = PlanFinding(
        severity=Severity.WARNING, reason=PlanReason.RULE_CHANGES, what=evil, where=(evil,), why=evil, do=evil
    )
    changed = step("update", NSG, "lab-weu-x", {"a": "b"}, {"a": evil}, within=SITE)
    written = to_markdown(judged(changed, policy=(finding,)))
    outside = "".join(part for index, part in enumerate(written.split("```")) if index % 2 == 0)
    assert outside.count("<img") == outside.count("`<img src=x> @everyone [a](b) | ''' </details>`") == 1
    assert "&lt;img" in outside
    assert written.count("```") == 2


def test_a_program_reads_the_whole_plan() -> None:
    plan = json.loads(to_json(judged(machine("replace", "lab-etcd-0"))))
    assert (plan["verdict"], plan["same"], plan["counts"]) == ("needs care", 0, {"replace": 1})
    assert plan["places"][0]["part"] == "lab-etcd-0"
    assert plan["places"][0]["resources"][0]["properties"][0] == {
        "path": "hardwareProfile.vmSize",
        "before": "Standard_L8s_v3",
        "after": "Standard_L16s_v3",
        "replaces": False,
        "lines": [],
    }
