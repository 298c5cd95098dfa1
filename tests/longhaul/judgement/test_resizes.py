"""Sizes of VPN gateways that Azure does not give an existing gateway (azure-docs ``gateway-sku-upgrade.md``)."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.base.findings import Severity
from components.model import Environment
from contract.reasons.plan import PlanReason
from tests.longhaul.judgement.steps import Step, judged, lab, stack, step

REASONS = (PlanReason.RESIZE_REFUSED, PlanReason.VPN_GATEWAY_CHANGES)
NEW_STACK = {**stack("lab"), "op": "create", "oldState": None}
GATEWAY = "azure-native:network:VirtualNetworkGateway"


def resize(before: str, after: str) -> Step:
    inputs = [{"sku": {"name": size, "tier": size}} for size in (before, after)]
    parents = "longhaul:Cluster$longhaul:Links$longhaul:azure:VpnGateway"
    return step("update", GATEWAY, "lab-links-weu-gateway", *inputs, within=parents)


def sized(size: str) -> Environment:
    def change(raw: dict[str, Any]) -> None:
        raw["sites"]["weu"]["vpn_gateway_size"] = size

    return lab(change)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("VpnGw2AZ", "VpnGw5AZ", ""),
        ("VpnGw3AZ", "VpnGw2AZ", "makes no gateway smaller"),
        ("VpnGw1AZ", "VpnGw2AZ", "of different generations"),
        ("VpnGw2AZ", "VpnGw1AZ", "of different generations"),
    ],
)
def test_what_azure_refuses_is_refused_with_and_without_a_state(before: str, after: str, why: str) -> None:
    plans = [
        judged(resize(before, after), environment=sized(after)),
        judged(NEW_STACK, base=sized(before), environment=sized(after)),
    ]
    for plan in plans:
        finding = next(finding for finding in plan.reasons if finding.reason in REASONS)
        assert finding.severity is (Severity.PROBLEM if why else Severity.WARNING)
        assert (why or "about 45 minutes") in finding.why
