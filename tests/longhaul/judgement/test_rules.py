"""Security rules that come or go as a whole are shown: nothing else in the plan tells what they admit."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.base.findings import Finding
from clouds.base.inputs import UNKNOWN
from longhaul.judgement.masking import LATER
from longhaul.judgement.plan import Plan
from longhaul.judgement.text import to_text
from longhaul.report.text import WIDTH
from tests.longhaul.judgement.steps import judged, step

GROUP = "azure-native:network:NetworkSecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
TAGS = {"longhaul-environment": "lab", "longhaul-site": "weu"}
PEERS = {
    "name": "peers",
    "direction": "Inbound",
    "access": "Allow",
    "protocol": "Tcp",
    "sourceAddressPrefix": "10.65.0.0/24",
    "destinationAddressPrefix": "*",
    "destinationPortRanges": ["2379-2380", "22"],
}
OUT = {
    "name": "rest-out",
    "direction": "Outbound",
    "access": "Deny",
    "protocol": "*",
    "sourceAddressPrefixes": ["10.65.0.0/24", "10.66.0.0/24"],
    "destinationAddressPrefix": "Internet",
    "destinationPortRange": "0-65535",
}


def listed(plan: Plan, kind: str = "security rule") -> Finding:
    (found,) = (reason for reason in plan.reasons if kind in reason.what)
    return found


@pytest.mark.parametrize(("op", "side"), [("create", "after"), ("delete", "before")])
def test_the_rules_of_a_group_that_comes_or_goes(op: str, side: str) -> None:
    inputs: dict[str, Any] = {side: {"securityRules": [PEERS, OUT], "tags": TAGS}}
    plan = judged(step(op, GROUP, "lab-weu-etcd-rules", **inputs))
    lines = (
        "lab-weu-etcd-rules: allow in, tcp, ports 2379-2380, 22, from 10.65.0.0/24 to * (peers)",
        "lab-weu-etcd-rules: deny out, any, ports 0-65535, from 10.65.0.0/24, 10.66.0.0/24 to Internet (rest-out)",
    )
    assert listed(plan).lines == lines
    written = to_text(plan)
    assert all(line in " ".join(written.split()) for line in lines)
    assert max(map(len, written.splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("kind", "inputs", "line"),
    [
        (INGRESS, {"cidrIpv4": "10.64.0.0/12", "ipProtocol": "-1"}, "allow in, any, any port, from 10.64.0.0/12"),
        (
            EGRESS,
            {"cidrIpv4": "0.0.0.0/0", "ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "description": "the web"},
            "allow out, tcp, ports 443, to 0.0.0.0/0 (the web)",
        ),
        (
            INGRESS,
            {"referencedSecurityGroupId": UNKNOWN, "ipProtocol": "udp", "fromPort": 500, "toPort": 4500},
            f"allow in, udp, ports 500-4500, from {LATER}",
        ),
    ],
)
def test_a_rule_of_its_own(kind: str, inputs: dict[str, Any], line: str) -> None:
    plan = judged(step("create", kind, "lab-use1-nodes", after=inputs))
    assert listed(plan).lines == (f"lab-use1-nodes: {line}",)


def test_of_a_group_that_changes_the_properties_are_shown() -> None:
    """The properties are in the part below, so that the rules are not shown twice."""
    before, after = ({"securityRules": rules, "tags": TAGS} for rules in ([PEERS], [PEERS, OUT]))
    plan = judged(step("update", GROUP, "lab-weu-etcd-rules", before, after))
    assert listed(plan).lines == ()
    assert "securityRules[rest-out].access: - -> Deny" in to_text(plan)
