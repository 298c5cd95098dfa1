"""The groups of clouds as a roll sees them: their answers, and the requests to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from clouds.aws import live_groups as aws
from clouds.aws.live_groups import AwsGroup
from clouds.azure import live_groups as azure
from clouds.azure.errors import AzureError
from clouds.azure.live_groups import AzureGroup
from clouds.azure.versions import COMPUTE_VERSION
from clouds.base.errors import CloudError
from clouds.base.live_groups import Life, LiveMachine
from components.model import load
from longhaul.roll.pools import JoinedGroups, pool_machines
from longhaul.terminal.exits import CommandError, Exit

SETS = "/subscriptions/sub/resourceGroups/lab-weu/providers/Microsoft.Compute/virtualMachineScaleSets"
MACHINE = LiveMachine(id="3", node="lab-a100-000003", current=False)


class Answer:
    """A response."""

    def __init__(self, body: Any) -> None:
        self.body = body

    def json(self) -> Any:
        return self.body


class Manager:
    """A scale set as the resource manager describes it, with two machines in a page."""

    def __init__(self, name: str = "lab-a100") -> None:
        self.root = f"{SETS}/{name}"
        self.image = "/galleries/longhaul/images/node/versions/1.1.0"
        self.machines = [instance("0", latest=True), instance("3"), instance("11", state="Updating")]
        self.asked: list[tuple[str, str, Any]] = []
        self.refuses: AzureError | None = None
        self.etag: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        """Those of the last request alone."""

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        parts = urlsplit(url)
        assert parts.path.startswith(self.root)
        path = parts.path.removeprefix(self.root)
        self.asked.append((method, path, body))
        self.headers = dict(headers or {})
        assert f"api-version={COMPUTE_VERSION}" in parts.query
        if self.refuses:
            raise self.refuses
        return Answer(self.answer(method, path, parts.query, url))

    def answer(self, method: str, path: str, query: str, url: str) -> Any:
        if method == "POST":
            return {}
        if path == "":
            profile = {"storageProfile": {"imageReference": {"id": self.image}}}
            return {
                **self.etag,
                "sku": {"name": "Standard_ND96isr_H100_v5", "capacity": 3},
                "properties": {"virtualMachineProfile": profile},
            }
        if path == "/virtualMachines":
            if "skip=2" in query:
                return {"value": self.machines[2:]}
            return {"value": self.machines[:2], "nextLink": f"{url}&skip=2"}
        return next(one for one in self.machines if path == f"/virtualMachines/{one['instanceId']}")


def instance(id_: str, *, latest: bool = False, state: str = "Succeeded", **more: Any) -> dict[str, Any]:
    name = f"LAB-A100-{int(id_):06}"
    properties = {"latestModelApplied": latest, "provisioningState": state, "osProfile": {"computerName": name}, **more}
    return {"instanceId": id_, "properties": properties}


@pytest.fixture(name="manager")
def _manager() -> Manager:
    return Manager()


@pytest.fixture(name="scale_set")
def _scale_set(manager: Manager) -> AzureGroup:
    seconds = [0.0]

    def wait(passing: float) -> None:
        seconds[0] += passing

    return AzureGroup(
        "lab-a100",
        resource_group="/subscriptions/sub/resourceGroups/lab-weu",
        session=manager,
        clock=lambda: seconds[0],
        wait=wait,
    )


def test_a_scale_set_is_asked_in_bulk(manager: Manager, scale_set: AzureGroup) -> None:
    seen = scale_set.look()
    assert seen.wanted == 3
    assert [(one.id, one.node, one.current, one.life) for one in seen.machines] == [
        ("0", "lab-a100-000000", True, Life.PRESENT),
        ("3", "lab-a100-000003", False, Life.PRESENT),
        ("11", "lab-a100-000011", False, Life.CHANGING),
    ]
    assert len(manager.asked) == 3


def test_a_scale_sets_target_is_its_image_and_all_else(manager: Manager, scale_set: AzureGroup) -> None:
    first = scale_set.look().target
    assert first.startswith("1.1.0-")
    manager.image = manager.image.replace("1.1.0", "1.2.0")
    assert scale_set.look().target.startswith("1.2.0-")
    assert scale_set.look().target != first


@pytest.mark.parametrize(
    ("state", "life"),
    [("Deleting", Life.LEAVING), ("Creating", Life.CHANGING), ("Failed", Life.PRESENT), ("Succeeded", Life.PRESENT)],
)
def test_where_azure_is_with_a_machine(manager: Manager, scale_set: AzureGroup, state: str, life: Life) -> None:
    manager.machines = [instance("0", state=state)]
    assert [one.life for one in scale_set.look().machines] == [life]


def test_a_protected_machine_is_held_and_a_nameless_one_is_none(manager: Manager, scale_set: AzureGroup) -> None:
    protected = instance("0", protectionPolicy={"protectFromScaleSetActions": True})
    manager.machines = [protected, {"instanceId": "1", "properties": {"provisioningState": "Creating"}}]
    (machine,) = scale_set.look().machines
    assert machine.keep_reason == "it is protected from the scale set's actions"


def test_no_step_is_taken_without_naming_its_machine(manager: Manager, scale_set: AzureGroup) -> None:
    """Without ids, Azure would apply it to every machine of the set."""
    scale_set.replace(MACHINE)
    scale_set.rebuild(MACHINE)
    assert manager.asked == [
        ("POST", "/manualupgrade", {"instanceIds": ["3"]}),
        ("POST", "/virtualMachines/3/reimage", {}),
    ]


def test_a_machine_without_a_node_is_reimaged_once_it_has_the_model(
    manager: Manager, scale_set: AzureGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = [instance("3", state="Updating"), instance("3", latest=True, state="Updating")]
    answers = iter([{}, *taking, instance("3", latest=True), {}])
    monkeypatch.setattr(manager, "answer", lambda *_: next(answers))
    scale_set.remake(MACHINE)
    assert [path for _, path, _ in manager.asked] == [
        "/manualupgrade",
        *["/virtualMachines/3"] * 3,
        "/virtualMachines/3/reimage",
    ]


def test_a_model_that_is_not_taken_over_is_an_error(manager: Manager, scale_set: AzureGroup) -> None:
    with pytest.raises(CloudError, match="has not taken over the model of lab-a100 after 900 s: Azure says Succeeded"):
        scale_set.remake(MACHINE)
    assert not any(path.endswith("reimage") for _, path, _ in manager.asked)


@pytest.mark.parametrize(
    ("status", "passing"), [(0, True), (409, True), (412, True), (429, True), (401, False), (404, False)]
)
def test_what_azure_refuses(manager: Manager, scale_set: AzureGroup, status: int, passing: bool) -> None:
    manager.refuses = AzureError("refused", status=status)
    with pytest.raises(CloudError, match="refused") as refused:
        scale_set.look()
    assert refused.value.passing is passing


def test_a_scale_set_is_resized_and_its_sku_kept(manager: Manager, scale_set: AzureGroup) -> None:
    assert scale_set.size() == 3
    scale_set.resize(4)
    sku = {"name": "Standard_ND96isr_H100_v5", "capacity": 4}
    assert [asked for asked in manager.asked if asked[0] != "GET"] == [("PATCH", "", {"sku": sku})]
    assert manager.headers == {}
    manager.etag = {"etag": '"7"'}
    scale_set.resize(4)
    assert manager.headers == {"If-Match": '"7"'}


class Scaling:
    """An auto scaling group that answers with an error or as a test says."""

    def __init__(self, *, group: Mapping[str, Any] | None = None, error: Exception | None = None) -> None:
        self.group, self.error = group, error
        self.wanted: list[tuple[str, int]] = []

    def describe_auto_scaling_groups(self, **asked: Any) -> Any:
        assert asked == {"AutoScalingGroupNames": ["lab-cpu"]}
        if self.error:
            raise self.error
        return {"AutoScalingGroups": [self.group]}

    def set_desired_capacity(self, **asked: Any) -> None:
        self.wanted.append((asked["AutoScalingGroupName"], asked["DesiredCapacity"]))


def group(scaling: Scaling) -> AwsGroup:
    return AwsGroup("lab-cpu", region="us-east-1", client=lambda _service: scaling)


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Describe")


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (refusal("Throttling"), True),
        (refusal("ScalingActivityInProgress"), True),
        (refusal("ResourceContentionFault"), True),
        (refusal("AccessDenied"), False),
        (EndpointConnectionError(endpoint_url="https://autoscaling"), True),
        (NoCredentialsError(), False),
    ],
)
def test_what_aws_refuses(error: Exception, passing: bool) -> None:
    with pytest.raises(CloudError, match="AWS us-east-1, lab-cpu, what it is") as refused:
        group(Scaling(error=error)).look()
    assert refused.value.passing is passing


def test_a_group_is_resized() -> None:
    scaling = Scaling(group={"DesiredCapacity": 2})
    assert group(scaling).size() == 2
    group(scaling).resize(3)
    assert scaling.wanted == [("lab-cpu", 3)]


def test_a_group_without_a_launch_template_is_not_rolled() -> None:
    with pytest.raises(CloudError, match="names no launch template"):
        group(Scaling(group={"DesiredCapacity": 1, "Instances": []})).look()


def test_the_age_of_instances_is_asked_for_by_a_filter() -> None:
    asked: list[Any] = []

    class Pages:
        def paginate(self, **words: Any) -> list[dict[str, Any]]:
            asked.append(words["Filters"])
            instance = {"InstanceId": "i-0", "LaunchTime": datetime(2026, 1, 2, tzinfo=UTC)}
            return [{"Reservations": [{"Instances": [instance]}]}] if len(asked) == 1 else []

    class Ec2:
        def get_paginator(self, name: str) -> Pages:
            assert name == "describe_instances"
            return Pages()

    found = AwsGroup("lab-cpu", region="us-east-1", client=lambda _service: Ec2())
    machines = [LiveMachine(id=f"i-{number}", node=f"i-{number}", current=True) for number in range(201)]
    assert found.made_at(machines) == {"i-0": "2026-01-02T00:00:00+00:00"}
    assert [len(one["Values"]) for [one] in asked] == [200, 1]
    assert "--region us-east-1 --instance-id i-0 " in found.console(machines[0])


@pytest.mark.parametrize(
    ("state", "life", "held"),
    [
        ("InService", Life.PRESENT, ""),
        ("Pending:Wait", Life.CHANGING, ""),
        ("Terminating:Wait", Life.LEAVING, ""),
        ("Standby", Life.PRESENT, "AWS has it as Standby"),
        ("Detaching", Life.PRESENT, "AWS has it as Detaching"),
    ],
)
def test_where_aws_is_with_a_machine(state: str, life: Life, held: str) -> None:
    item = {"InstanceId": "i-1", "LifecycleState": state, "LaunchTemplate": {"LaunchTemplateId": "lt", "Version": "2"}}
    (machine,) = aws.machines({"Instances": [item]}, "lt", "3")
    assert (machine.current, machine.life, machine.keep_reason) == (False, life, held)
    assert machine.counted is (state != "Standby")


@pytest.mark.parametrize(("every", "held"), [(False, "AWS protects it from scale-in"), (True, "")])
def test_what_aws_protects_is_held_unless_its_group_protects_all(every: bool, held: str) -> None:
    item = {"InstanceId": "i-1", "LifecycleState": "InService", "ProtectedFromScaleIn": True}
    group = {"Instances": [item], "NewInstancesProtectedFromScaleIn": every}
    (machine,) = aws.machines(group, "lt", "3")
    assert machine.keep_reason == held


def test_a_machine_of_another_template_is_old() -> None:
    item = {"InstanceId": "i-1", "LifecycleState": "InService"}
    (machine,) = aws.machines({"Instances": [item]}, "lt", "3")
    assert not machine.current


def test_the_pools_cloud_follows_from_its_site(root: Path) -> None:
    assert isinstance(pool_machines(load(root / "stacks" / "Pulumi.lab.yaml"), "cpu"), AwsGroup)
    prod = load(root / "examples" / "Pulumi.prod.yaml")
    kinds = {name: prod.sites[pool.site].kind for name, pool in prod.pools.items()}
    found = {name: type(pool_machines(prod, name)) for name in prod.pools}
    assert found == {name: AzureGroup if kind == "azure" else AwsGroup for name, kind in kinds.items()}
    assert set(kinds.values()) == {"azure", "aws"}


def test_a_pool_of_several_scale_sets_is_one() -> None:
    managers = {name: Manager(name) for name in ("lab-a100", "lab-a100-s1")}
    sets = {
        name: AzureGroup(name, resource_group="/subscriptions/sub/resourceGroups/lab-weu", session=manager)
        for name, manager in managers.items()
    }
    cloud = JoinedGroups(sets)
    seen = cloud.look()
    assert (seen.wanted, len(seen.machines), len({machine.id for machine in seen.machines})) == (6, 6, 6)
    old = next(machine for machine in seen.machines if machine.id == "lab-a100-s1/3")
    for manager in managers.values():
        manager.asked.clear()
    cloud.replace(old)
    cloud.rebuild(old)
    assert managers["lab-a100"].asked == []
    assert managers["lab-a100-s1"].asked == [
        ("POST", "/manualupgrade", {"instanceIds": ["3"]}),
        ("POST", "/virtualMachines/3/reimage", {}),
    ]


def test_the_sets_of_a_large_pool_are_found(root: Path) -> None:
    prod = load(root / "examples" / "Pulumi.prod.yaml")
    pool = prod.pools["h100-azure"].model_copy(update={"max": 150})
    assert isinstance(
        pool_machines(prod.model_copy(update={"pools": {"h100-azure": pool}}), "h100-azure"), JoinedGroups
    )


def test_an_unknown_pool_names_those_there_are(root: Path) -> None:
    with pytest.raises(CommandError, match=r"lab has no pool 'gpu' \(pools: cpu, hosts\)") as refused:
        pool_machines(load(root / "stacks" / "Pulumi.lab.yaml"), "gpu")
    assert refused.value.code is Exit.USAGE


def test_a_target_says_nothing_of_what_machines_are_given() -> None:
    """The target is written on nodes, where others can read it."""
    profile = {"osProfile": {"customData": "secret"}, "storageProfile": {"imageReference": {"id": "/versions/1.0.0"}}}
    found = azure.target({"sku": {"name": "x", "capacity": 1}, "properties": {"virtualMachineProfile": profile}})
    assert "secret" not in found
    assert json.dumps(found).isascii()
