"""Changes that are refused, and similar ones that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.base.findings import Severity
from components.model import Environment
from contract.reasons.plan import FileReason
from longhaul.judgement.refusals import REFUSALS
from tests.longhaul.judgement.steps import GROUP, OWN, SET, VM, judged, lab, machine, said, step

VNET = "azure-native:network:VirtualNetwork"


def members(number: int, *, role: str = "etcd") -> Environment:
    """Return the lab with that many members."""
    return lab(lambda raw: raw["control_plane"][role].update(members=number))


def gone(*indices: int, role: str = "etcd", guarded: bool = True) -> list[dict[str, Any]]:
    return [machine("delete", f"lab-{role}-{index}", guarded=guarded) for index in indices]


def refused(*steps: dict[str, Any], **more: Any) -> list[str]:
    return [one for one in said(judged(*steps, **more)) if one.startswith("refused")]


LEARNER = "lab-etcd-learner"
DISK = "azure-native:compute:Disk"


def with_learner(raw: dict[str, Any]) -> None:
    raw["control_plane"]["etcd"]["learner"] = {"zone": "2", "machine_type": "Standard_D8s_v5"}


def test_no_quorum_counts_the_learner_and_its_disk_goes_with_it_alone() -> None:
    replaced = judged(machine("replace", LEARNER), machine("replace", "lab-etcd-0"), environment=lab(with_learner))
    assert said(replaced) == [
        "needs care: 1 of 3 members of the etcd cluster etcd is replaced.",
        "needs care: The learner of the etcd cluster is replaced.",
    ]
    disk = step("delete", DISK, f"{LEARNER}-data")
    assert said(judged(machine("delete", LEARNER), disk)) == ["needs care: The learner of the etcd cluster is removed."]
    assert refused(disk, environment=lab(with_learner)) == ["refused: 1 data store would be destroyed."]
    moved = step("replace", DISK, f"{LEARNER}-data")
    assert refused(moved, environment=lab(with_learner)) == ["refused: 1 data store would be replaced."]


def test_members_that_are_guarded_are_replaced_one_at_a_time() -> None:
    plan = judged(*(machine("replace", f"lab-etcd-{index}") for index in range(3)))
    assert said(plan) == ["needs care: 3 of 3 members of the etcd cluster etcd are replaced, one at a time."]


def test_members_that_nothing_guards_are_replaced_at_once() -> None:
    replaced = [machine("replace", f"lab-etcd-{index}", guarded=False) for index in range(2)]
    assert refused(*replaced) == ["refused: The etcd cluster etcd loses its quorum: 2 members replaced of 3."]
    assert refused(replaced[0]) == []


@pytest.mark.parametrize(
    ("before", "after", "loses"), [(3, 1, True), (5, 1, True), (5, 3, False), (7, 3, False), (7, 5, False)]
)
def test_a_store_that_shrinks(before: int, after: int, loses: bool) -> None:
    plan = judged(*gone(*range(after, before)), environment=members(after))
    assert plan.verdict is (Severity.PROBLEM if loses else Severity.WARNING)
    assert len(plan.reasons) == 1


def test_a_store_that_shrinks_unguarded_outlives_no_replacement_besides() -> None:
    replaced = machine("replace", "lab-etcd-0")
    assert refused(*gone(3, 4, guarded=False), replaced, environment=members(3)) == [
        "refused: The etcd cluster etcd loses its quorum: 2 members removed and 1 member replaced of 5."
    ]
    assert refused(*gone(3, 4), replaced, environment=members(3)) == []


def test_the_only_member_of_a_store_stays() -> None:
    plan = judged(machine("replace", "lab-events-0"), environment=members(1, role="events"))
    assert said(plan) == ["refused: The etcd cluster events loses its quorum: 1 member replaced of 1."]
    assert "three members first" in plan.reasons[0].do


def test_a_store_that_was_never_founded_has_nothing_to_lose() -> None:
    founded = step("create", f"{OWN}Founded", "lab-events-founded")
    assert refused(machine("replace", "lab-events-0"), founded, environment=members(1, role="events")) == []


def test_a_store_that_grows_or_begins_is_safe() -> None:
    assert (
        judged(step("create", VM, "lab-etcd-3"), step("create", VM, "lab-etcd-4"), environment=members(5)).reasons == ()
    )
    assert judged(*(step("create", VM, f"lab-etcd-{index}") for index in range(3))).reasons == ()


@pytest.mark.parametrize("op", ["delete", "replace"])
@pytest.mark.parametrize(
    "kind",
    [
        "azure-native:keyvault:Vault",
        f"{OWN}CertificateAuthority",
        f"{OWN}Secret",
        f"{OWN}DestructionGuard",
        "azure-native:storage:StorageAccount",
        "azure-native:storage/v20240101:StorageAccount",
        "azure-native:compute:Snapshot",
        "aws:ebs/volume:Volume",
        "aws:s3/bucket:Bucket",
    ],
)
def test_what_cannot_be_made_again_stays(kind: str, op: str) -> None:
    plan = judged(step(op, kind, "lab-x"))
    assert plan.verdict is Severity.PROBLEM
    (reason,) = plan.reasons
    assert reason.where == ("lab-x",)
    assert reason.why
    assert reason.do


def test_the_control_planes_group_stays_and_that_of_a_site_that_goes_may_go() -> None:
    kind = "azure-native:resources:ResourceGroup"
    site = {"within": "longhaul:Cluster$longhaul:azure:SiteNetwork"}
    assert refused(step("replace", kind, "lab-weu", **site)) == ["refused: 1 resource group would be replaced."]
    other = {"tags": {"longhaul-site": "neu"}}
    assert refused(step("delete", kind, "lab-neu", other, **site)) == []


def network(op: str, before: list[str], after: list[str]) -> dict[str, Any]:
    within = "longhaul:Cluster$longhaul:azure:SiteNetwork"
    sides = ({"addressSpace": {"addressPrefixes": ranges}} for ranges in (before, after))
    return step(op, VNET, "lab-weu-network", *sides, within=within)


def test_a_range_in_use_does_not_move() -> None:
    assert refused(network("update", ["10.64.0.0/16"], ["10.80.0.0/16"])) == [
        "refused: The address plan in use changes: lab-weu-network: 10.64.0.0/16 -> 10.80.0.0/16."
    ]


def test_a_range_in_use_is_not_given_up() -> None:
    assert refused(network("delete", ["10.64.0.0/16"], []))


def test_a_network_may_grow() -> None:
    assert refused(network("update", ["10.64.0.0/16"], ["10.64.0.0/16", "10.80.0.0/16"])) == []


def test_the_service_range_is_in_the_api_servers_certificates() -> None:
    sides = ({"addresses": ["10.64.3.10", service]} for service in ("10.79.0.1", "10.95.0.1"))
    assert refused(step("update", f"{OWN}Certificate", "lab-api-0-apiserver", *sides)) == [
        "refused: The address plan in use changes: lab-api-0-apiserver: 10.79.0.1 -> 10.95.0.1."
    ]


def test_the_file_of_before_tells_which_addresses_move() -> None:
    base = lab()
    moved = lab(lambda raw: raw.update(supernet="10.80.0.0/12"))
    (reason,) = judged(environment=moved, base=base).reasons
    assert reason.what.startswith("The address plan in use changes: supernet: 10.64.0.0/12 -> 10.80.0.0/12, services: ")
    assert {"site weu", "site rack", "gateway gw-0", f"host {base.hosts[0].name}"} < set(reason.where)


def test_a_host_that_is_taken_out_of_the_middle_moves_those_behind_it() -> None:
    host = lab().hosts[0]
    before = lab().model_copy(update={"hosts": tuple(host.model_copy(update={"name": f"h{n}"}) for n in range(20))})
    after = before.model_copy(update={"hosts": (before.hosts[0], *before.hosts[2:])})
    (reason,) = judged(environment=after, base=before).reasons
    assert reason.where == tuple(f"host h{n}" for n in range(2, 20))


def group(most: int, *, after: int | None = None, op: str = "update") -> dict[str, Any]:
    return step(op, GROUP, "lab-cpu-group", {"minSize": 1, "maxSize": most}, {"minSize": 1, "maxSize": after})


@pytest.mark.parametrize(("before", "refuses"), [(11, False), (12, True), (10, False)])
def test_nodes_that_go_at_once(before: int, refuses: bool) -> None:
    assert bool(refused(group(before, after=10))) is refuses


def test_how_many_nodes_may_go_can_be_said() -> None:
    assert refused(group(20, after=10), max_removed=0.5) == []
    assert refused(group(20, after=10), max_removed=0.49) == [
        "refused: 10 nodes of 20 would go, 50% of the pools' maximum; 49% may."
    ]


def test_a_group_that_is_replaced_ends_all_its_nodes() -> None:
    assert refused(group(10, after=10, op="replace"))


def test_a_pool_on_azure_that_goes_counts_as_what_its_sets_hold() -> None:
    inputs = {
        "sku": {"name": "Standard_ND96isr_H100_v5", "capacity": 2},
        "tags": {"longhaul-pool": "h", "longhaul-site": "weu"},
    }
    plan = judged(step("delete", SET, "lab-h-set", inputs))
    assert "refused: 100 nodes of 110 would go, 91% of the pools' maximum; 10% may." in said(plan)
    assert plan.notes[0] == "Pool h: the state does not have its maximum; counted as 100. --base FILE shows it."


def test_racks_hosts_that_go_are_counted_with_the_file_of_before() -> None:
    host = lab().hosts[0]
    before = lab().model_copy(update={"hosts": tuple(host.model_copy(update={"name": f"h{n}"}) for n in range(20))})
    for left, refuses in ((18, False), (17, True)):
        after = before.model_copy(update={"hosts": before.hosts[:left]})
        assert bool(judged(environment=after, base=before).reasons) is refuses


def test_a_new_environment_has_its_risks_and_no_other_reason() -> None:
    steps = [
        {
            **step("create", "pulumi:pulumi:Stack", "longhaul-lab"),
            "urn": "urn:pulumi:lab::longhaul::pulumi:pulumi:Stack::l",
        },
        network("create", [], ["10.64.0.0/16"]),
        *(step("create", VM, f"lab-etcd-{index}") for index in range(3)),
        step("create", "azure-native:network:NetworkSecurityGroup", "lab-weu-etcd-rules"),
    ]
    plan = judged(*steps)
    assert plan.verdict is Severity.WARNING
    assert {finding.reason for finding in plan.reasons} == {
        FileReason.ONE_GATEWAY_INSTANCE,
        FileReason.ROUTES_STATIC,
        FileReason.GATEWAY_THROUGHPUT,
        FileReason.ONE_GATEWAY,
    }
    assert plan.risks == ()
    assert all(row.before is None for row in plan.rows)
    assert plan.notes[0].startswith("There was no state to compare with")


def test_without_a_state_the_files_are_compared_all_the_same() -> None:
    stack = {**step("create", "x", "x"), "urn": "urn:pulumi:lab::longhaul::pulumi:pulumi:Stack::longhaul-lab"}
    less = lab(lambda raw: raw["pools"]["cpu"].update(max=5))
    assert refused(stack, environment=less, base=lab()) == [
        "refused: 5 nodes of 10 would go, 50% of the pools' maximum; 10% may."
    ]


def held(**facts: str) -> dict[str, Any]:
    before = {"facts": {"domain": "a.internal", "supernet": "10.64.0.0/12", "sites.weu.region": "westeurope"}}
    after = {"facts": {**before["facts"], **{key.replace("__", "."): value for key, value in facts.items()}}}
    return step("update", f"{OWN}Held", "lab-held", before, after)


def test_what_the_engine_would_refuse_is_refused_here() -> None:
    assert refused(held(domain="b.internal", sites__weu__region="northeurope")) == [
        "refused: A setting in use changes: domain: a.internal -> b.internal, "
        "sites.weu.region: westeurope -> northeurope."
    ]
    assert refused(held(sites__use1__range="10.65.0.0/16")) == [], "a site more"
    assert refused(held(supernet="10.128.0.0/12")) == [], "told with what has the ranges"


def test_every_refusal_says_on_its_page_who_holds_it(root: Path) -> None:
    page = (root / "docs" / "plan.md").read_text(encoding="utf-8")
    rows = [
        line
        for line in page.partition("## Who refuses")[2].partition("\n## ")[0].splitlines()
        if line.startswith("| `")
    ]
    assert [(row.split("`")[1], row.split(" | ")[1].removesuffix(" |")) for row in rows] == [
        (one.id, one.engine) for one in REFUSALS
    ]


def test_a_refusal_says_which_it_is() -> None:
    (reason,) = judged(group(20, after=10)).reasons
    assert reason.check == "nodes"
