"""Claims of volumes, and nodes' limits of them."""

from __future__ import annotations

from typing import Any

import pytest

from contract.kubernetes.paths import CLAIMS, STORAGE_CLASSES
from longhaul.cli.examples import example
from services.autoscaler.cluster_state import CSI_NODES, DAEMON_SETS, VOLUMES
from tests.services.autoscaler.api_objects import Object, pod
from tests.services.autoscaler.listed_cluster import (
    Lists,
    Standing,
    actions,
    cpu_node,
    daemon_set,
    machine,
)
from tests.services.autoscaler.test_requirements import gang

ZONE = "topology.kubernetes.io/zone"
EBS = "ebs.csi.aws.com"
GROWS = "grow prod-cpu from 0 to 1: for team/p"


def claim(name: str, *, status: str = "Bound", metadata: Object | None = None, **spec: Any) -> Object:
    about = {"name": name, "namespace": "team", **(metadata or {})}
    return {"metadata": about, "spec": spec, "status": {"phase": status}}


def volume(name: str, *, zones: tuple[str, ...] = (), labels: Object | None = None, **spec: Any) -> Object:
    expression = {"key": ZONE, "operator": "In", "values": list(zones)}
    required = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}} if zones else {}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"nodeAffinity": required, **spec}}


def using(name: str, *claims: str, **more: Any) -> Object:
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return pod(name, requests={"cpu": "100m"}, volumes=volumes, **more)


def lists(pods: list[Object], nodes: list[Object] | None = None, **kinds: list[Object]) -> Lists:
    api = Lists(pods=pods, nodes=nodes or [])
    paths = {"claims": CLAIMS, "volumes": VOLUMES, "classes": STORAGE_CLASSES, "csi_nodes": CSI_NODES}
    api.lists |= {paths[kind]: items for kind, items in kinds.items()}
    return api


def class_(name: str, mode: str = "WaitForFirstConsumer", **more: Any) -> Object:
    return {"metadata": {"name": name}, "provisioner": EBS, "volumeBindingMode": mode, **more}


CLASSES = [class_("first"), class_("now", "Immediate"), class_("local", provisioner="kubernetes.io/no-provisioner")]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (claim("c", volumeName="v", status="Lost"), "its volume claim c has lost its volume"),
        (claim("c", volumeName="v", metadata={"deletionTimestamp": "x"}), "its volume claim c is being deleted"),
        (claim("c", volumeName="v", status="Pending"), "its volume claim c is not bound to its volume yet"),
        (claim("c", volumeName="gone"), "volume gone of its claim c does not exist"),
        (claim("c"), "its volume claim c has neither a volume nor a storage class"),
        (claim("c", storageClassName="x"), "storage class x of its volume claim c does not exist"),
        (claim("c", storageClassName="now"), "its volume claim c is not bound to a volume yet"),
        (claim("c", storageClassName="local"), "storage class local of its volume claim c has no free volume"),
        (claim("other"), "its volume claim c does not exist"),
    ],
)
def test_a_claim_that_cannot_be_used_is_told(groups: dict[str, Standing], item: Object, reason: str) -> None:
    api = lists([using("p", "c")], claims=[item], volumes=[volume("v")], classes=CLASSES)
    (told,) = actions(api)
    assert told.startswith("tell team/p: ")
    assert told.endswith(reason)


def test_a_volume_that_is_made_for_its_first_pod_asks_for_its_class_s_zones(groups: dict[str, Standing]) -> None:
    waits = claim("c", storageClassName="first", status="Pending")

    def decided(*zones: str) -> list[str]:
        allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else []
        return actions(lists([using("p", "c")], claims=[waits], classes=[class_("first", allowedTopologies=allowed)]))

    assert decided() == [GROWS]
    assert decided("us-east-1a", "us-east-1b", "us-east-1c") == [GROWS]
    (told,) = decided("us-east-1a")
    assert "in each of its zones" in told


def test_zones_of_a_volume(groups: dict[str, Standing]) -> None:
    bound = claim("c", volumeName="v")
    pool = example("prod").pools["cpu"].model_copy(update={"min": 0, "zones": ("a",)})

    def decided(item: Object) -> list[str]:
        return actions(lists([using("p", "c")], claims=[bound], volumes=[item]), pools={"cpu": pool})

    old = "failure-domain.beta.kubernetes.io/zone"
    for zone, grows in (("us-east-1a", True), ("us-east-1b", False)):
        assert (decided(volume("v", zones=(zone,))) == [GROWS]) is grows
        assert (decided(volume("v", labels={old: zone})) == [GROWS]) is grows
    assert decided(volume("v", labels={ZONE: "us-east-1c__us-east-1a"})) == [GROWS]


def test_a_generic_ephemeral_volume_is_claimed_by_its_pod(groups: dict[str, Standing]) -> None:
    template = {"spec": {"storageClassName": "first"}}
    waits = pod("p", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    assert actions(lists([waits], classes=CLASSES)) == [GROWS]
    other = claim("p-scratch", storageClassName="first", status="Pending")
    assert actions(lists([waits], claims=[other], classes=CLASSES))[0].endswith("p-scratch is not its own")
    other["metadata"]["ownerReferences"] = [{"uid": "uid-p"}]
    assert actions(lists([waits], claims=[other], classes=CLASSES)) == [GROWS]


def test_a_node_has_no_more_volumes_than_its_driver_allows(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    names = [str(number) for number in range(27)]
    claims = [claim(name, volumeName=f"v{name}") for name in names]
    volumes = [volume(f"v{name}", csi={"driver": EBS, "volumeHandle": name}) for name in names]
    pods = [using("full", *names[:26], node="i-0"), using("same", names[0], node="i-0"), using("next", names[26])]

    def decided(limit: int | None) -> list[str]:
        driver = {"name": EBS, "allocatable": {"count": limit} if limit else None}
        csi_nodes = [{"metadata": {"name": "i-0"}, "spec": {"drivers": [driver]}}]
        return actions(lists(pods, [cpu_node("i-0")], claims=claims, volumes=volumes, csi_nodes=csi_nodes))

    assert decided(26) == ["grow prod-cpu from 1 to 2: for team/next"]
    assert decided(27) == []
    assert decided(None) == []


def test_a_node_counts_a_volume_that_is_still_made(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    pending = claim("now", status="Pending", storageClassName="now")
    api = lists(
        [using("there", "now", node="i-0"), using("p", "c")],
        [cpu_node("i-0")],
        claims=[pending, claim("c", volumeName="v")],
        volumes=[volume("v", csi={"driver": EBS, "volumeHandle": "x"})],
        classes=CLASSES,
        csi_nodes=[{"metadata": {"name": "i-0"}, "spec": {"drivers": [{"name": EBS, "allocatable": {"count": 1}}]}}],
    )
    assert actions(api) == ["grow prod-cpu from 1 to 2: for team/p"]


def test_unknown_local_storage_is_not_zero(groups: dict[str, Standing]) -> None:
    environment = example("prod")
    pool = environment.pools["h100-azure"].model_copy(update={"fallbacks": ()})
    waits = pod("p", requests={"ephemeral-storage": "10Gi"}, tolerations=[{"operator": "Exists"}])
    (told,) = actions(Lists(pods=[waits]), pools={"h100-azure": pool})
    assert told.endswith("with local storage that is unknown until it has a node or `system_disk_gib`")


def test_a_daemon_set_s_volume_leaves_room_for_others(groups: dict[str, Standing]) -> None:
    """Nothing says yet how many volumes a new node takes."""
    driver = {"driver": EBS, "volumeHandle": "x"}
    api = lists(
        [using("p", "c")], claims=[claim("c", volumeName="v")], volumes=[volume("v", csi=driver)], classes=CLASSES
    )
    buffer = {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "first"}}}}
    api.lists[DAEMON_SETS] = [daemon_set("logs", volumes=[{"name": "buffer", **buffer}])]
    assert actions(api) == [GROWS]


def test_a_pod_behind_a_gate_holds_no_claim_for_one_pod(groups: dict[str, Standing]) -> None:
    gated = using("a", "c", schedulingGates=[{"name": "later"}])
    api = lists(
        [gated, using("p", "c")],
        claims=[claim("c", volumeName="v", accessModes=["ReadWriteOncePod"])],
        volumes=[volume("v", csi={"driver": EBS, "volumeHandle": "x"})],
    )
    assert actions(api) == [GROWS]


def test_a_spreading_counts_hosts_where_the_pod_s_volume_cannot_be(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"), machine("i-1")))
    nodes = [cpu_node("i-0", zone="us-east-1a"), cpu_node("i-1", zone="us-east-1b")]
    selector = {"matchLabels": {"app": "web"}}
    rule = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    rules = [{**rule, "whenUnsatisfiable": "DoNotSchedule"}]
    waiting = using("p", "c", labels={"app": "web"}, topologySpreadConstraints=rules)
    there = pod("w0", node="i-0", labels={"app": "web"})
    zonal = [volume("v", zones=("us-east-1a",))]
    api = lists([there, waiting], nodes, claims=[claim("c", volumeName="v")], volumes=zonal)
    pool = example("prod").pools["cpu"].model_copy(update={"min": 0, "zones": ("a",)})
    assert actions(api, pools={"cpu": pool}) == ["grow prod-cpu from 2 to 3: for team/p"]


@pytest.mark.parametrize("uid", ["now", "before"])
def test_a_volume_of_a_former_claim_of_that_name_is_not_its_successor_s(groups: dict[str, Standing], uid: str) -> None:
    kept = volume("v", storageClassName="local", claimRef={"namespace": "team", "name": "c", "uid": uid})
    asked = claim("c", status="Pending", metadata={"uid": "now"}, storageClassName="local")
    found = actions(lists([using("p", "c")], claims=[asked], volumes=[kept], classes=CLASSES))
    assert (found == [GROWS]) == (uid == "now"), found


def limited(api: Lists, limit: int, *, node: str = "i-0", driver: str = EBS) -> Lists:
    """Give a node a limit of volumes."""
    drivers = [{"name": driver, "allocatable": {"count": limit}}]
    api.lists[CSI_NODES] = [{"metadata": {"name": node}, "spec": {"drivers": drivers}}]
    return api


DISK = "/subscriptions/x/resourceGroups/y/providers/Microsoft.Compute/disks/d"
AZURE_DISK = "disk.csi.azure.com"
OLD_VOLUMES = {
    EBS: {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}},
    AZURE_DISK: {"azureDisk": {"diskURI": DISK, "kind": "Managed"}},
}


@pytest.mark.parametrize("driver", OLD_VOLUMES)
@pytest.mark.parametrize("made", ["bound", "provisioned", "inline", "being deleted"])
def test_volumes_that_kubernetes_once_attached_itself_count_for_their_drivers(
    groups: dict[str, Standing], driver: str, made: str
) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    classes = [class_("old", provisioner={EBS: "kubernetes.io/aws-ebs"}.get(driver, "kubernetes.io/azure-disk"))]
    full = using("full", "a", node="i-0")
    if made == "inline":
        full["spec"]["volumes"] = [{"name": "a", **OLD_VOLUMES[driver]}]
    api = lists(
        [full, using("p", "c")],
        [cpu_node("i-0")],
        claims=[
            claim("a", volumeName="v", metadata={"deletionTimestamp": "x"} if made == "being deleted" else {}),
            claim("c", storageClassName="old", status="Pending"),
        ],
        volumes=[volume("v", **OLD_VOLUMES[driver])],
        classes=classes,
    )
    if made == "provisioned":
        api.lists[CLAIMS] = [claim(name, storageClassName="old", status="Pending") for name in ("a", "c")]
    assert actions(limited(api, 2, driver=driver)) == []
    assert actions(limited(api, 1, driver=driver)) == ["grow prod-cpu from 1 to 2: for team/p"]


def test_a_volume_and_its_former_form_are_one(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    old, new = OLD_VOLUMES[EBS], {"csi": {"driver": EBS, "volumeHandle": "vol-1"}}
    api = lists(
        [using("full", "a", "b", node="i-0"), using("p", "c")],
        [cpu_node("i-0")],
        claims=[claim("a", volumeName="va"), claim("b", volumeName="vb"), claim("c", storageClassName="first")],
        volumes=[volume("va", **old), volume("vb", **new)],
        classes=CLASSES,
    )
    assert actions(limited(api, 2)) == []


def test_disks_of_accounts_count_for_no_driver(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    blob = {"azureDisk": {"diskURI": "https://x.blob.core.windows.net/d.vhd", "kind": "Shared"}}
    classes = [class_("new", provisioner=AZURE_DISK)]
    api = lists(
        [using("full", "a", node="i-0"), using("p", "c")],
        [cpu_node("i-0")],
        claims=[claim("a", volumeName="v"), claim("c", storageClassName="new", status="Pending")],
        volumes=[volume("v", **blob)],
        classes=classes,
    )
    assert actions(limited(api, 1, driver=AZURE_DISK)) == []


def test_a_volume_that_is_yet_to_be_claimed_has_the_default_class(groups: dict[str, Standing]) -> None:
    """The API gives it to claims, but not to templates of claims."""
    spec: Object = {"resources": {"requests": {"storage": "1Gi"}}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    waits = pod("p", volumes=volumes)
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    older = {"metadata": {"name": "now", "creationTimestamp": "2026-01-01T00:00:00Z", **default}}
    newer = {"metadata": {"name": "first", "creationTimestamp": "2026-01-02T00:00:00Z", **default}}
    classes = [class_("now", "Immediate") | older, class_("first") | newer]
    (refused,) = actions(lists([waits], classes=CLASSES))
    assert refused.endswith("p-scratch has neither a volume nor a storage class")
    assert actions(lists([waits], classes=classes)) == [GROWS]
    members = lists([], classes=classes)
    members.lists |= gang(2, {"requests": {"nvidia.com/gpu": "8"}}, volumes=volumes)
    assert "grow prod-h100 from 0 to 2: for gang team/r, 2 members" in actions(members)
    spec["storageClassName"] = ""
    (refused,) = actions(lists([waits], classes=classes))
    assert refused.endswith("p-scratch has neither a volume nor a storage class")


@pytest.mark.parametrize("attributes", ["gold", "silver", ""])
def test_a_free_volume_has_the_attributes_that_its_claim_asks(groups: dict[str, Standing], attributes: str) -> None:
    asked = claim("c", status="Pending", storageClassName="local", volumeAttributesClassName="gold")
    free = volume("v", storageClassName="local", volumeAttributesClassName=attributes)
    result = actions(lists([using("p", "c")], claims=[asked], volumes=[free], classes=CLASSES))
    assert (result == [GROWS]) == (attributes == "gold"), result


@pytest.mark.parametrize(("zone", "grows"), [("us-east-1a", True), ("us-east-1z", False)])
def test_a_volume_selects_by_the_label_of_its_driver(groups: dict[str, Standing], zone: str, grows: bool) -> None:
    terms = [{"matchExpressions": [{"key": "topology.ebs.csi.aws.com/zone", "operator": "In", "values": [zone]}]}]
    disk = volume("v", csi={"driver": EBS}, nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    api = lists([using("p", "c")], claims=[claim("c", volumeName="v")], volumes=[disk])
    environment = example("prod")
    cpu = environment.pools["cpu"].model_copy(update={"min": 0, "zones": ("a",)})
    decided = actions(api, pools={"cpu": cpu})
    assert (decided == ["grow prod-cpu from 0 to 1: for team/p"]) is grows
