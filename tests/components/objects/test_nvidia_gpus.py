"""Objects that are declared for GPUs, and the environments that get them."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from components.model import Environment
from components.model.nodes.gpu_promises import has_gpus
from components.objects import nvidia_gpus
from components.objects.device_plugins import AT_ONCE
from contract.annotations import SKIP_AWAIT
from contract.labels import GPU_LABEL
from longhaul.artifacts import image_contents
from longhaul.toolchain.spec import load as load_spec
from tests.support.api_server import ApiServer, eventually
from tests.support.declared import plain
from tests.support.hosts import STACKS
from tests.support.teams import pod
from tests.support.whole import declare_objects

PROGRAMS = STACKS.parent / "images" / "rootfs" / "usr" / "local" / "lib" / "longhaul"
NAME_LABEL = "app.kubernetes.io/name"
OF_APPLICATIONS = {13, 31, 43, 45, 68}
"""Xids that the plugin ignores by itself (``getDisabledHealthCheckXids``), besides 109."""


@pytest.fixture(scope="module", name="declared")
def _declared(production: Environment) -> dict[str, Any]:
    """Inputs of the objects for GPUs, by kind."""
    found = [plain(one.inputs) for one in declare_objects(production).clouds()]
    return {
        one["kind"]: one
        for one in found
        if one.get("metadata", {}).get("labels", {}).get(NAME_LABEL) == nvidia_gpus.PART
    }


@pytest.fixture(name="quota")
def _quota(production: Environment) -> dict[str, Any]:
    found = (plain(one.inputs) for one in declare_objects(production).clouds())
    return next(one for one in found if one.get("kind") == "ResourceQuota")


@pytest.fixture(name="pod")
def _pod(declared: dict[str, Any]) -> Any:
    return declared["DaemonSet"]["spec"]["template"]["spec"]


def test_only_environments_with_gpus_have_it(production: Environment) -> None:
    plain_pools = {
        name: pool for name, pool in production.pools.items() if not production.machine_type(pool.machine_type).gpus
    }
    bare = tuple(host.model_copy(update={"gpus": 0}) for host in production.hosts)
    for pools, hosts, has in (
        (production.pools, (), True),
        (plain_pools, (bare[0].model_copy(update={"gpus": 1}), *bare[1:]), True),
        (plain_pools, bare, False),
    ):
        environment = production.model_copy(update={"pools": pools, "hosts": hosts})
        assert has_gpus(environment) is has
        kinds = {one.inputs.get("kind") for one in declare_objects(environment).clouds()}
        assert ({"DaemonSet", "RuntimeClass"} <= kinds) is has


def test_it_runs_on_every_machine_with_gpus_whatever_keeps_others_away(declared: dict[str, Any], pod: Any) -> None:
    assert pod["nodeSelector"] == {GPU_LABEL: "true"}
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "system-node-critical"
    assert declared["DaemonSet"]["metadata"]["annotations"][SKIP_AWAIT] == "true"
    runtime = declared["RuntimeClass"]
    assert runtime["metadata"]["name"] == runtime["handler"] == pod["runtimeClassName"] == "nvidia"
    assert runtime["scheduling"]["nodeSelector"] == {GPU_LABEL: "true"}


def test_a_rollout_takes_few_at_a_time_and_never_two_on_one_machine(declared: dict[str, Any]) -> None:
    spec = declared["DaemonSet"]["spec"]
    assert spec["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "5%"},
    }
    assert spec["minReadySeconds"] > 0
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_it_has_no_rights_and_sees_little_of_its_host(pod: Any) -> None:
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    of_host = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"]}
    writable = {of_host[one["name"]] for one in container["volumeMounts"] if not one.get("readOnly")}
    assert writable == {"/var/lib/kubelet/device-plugins", "/var/run/cdi"}
    assert set(of_host.values()) - writable == {"/usr"}


def test_it_watches_for_the_xids_that_the_preflight_takes_for_fatal(pod: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    fatal = set(importlib.import_module("gpu.xid").FATAL)
    (container,) = pod["containers"]
    env = {one["name"]: one["value"] for one in container["env"]}
    enabled, disabled = (
        {int(number) for number in env[f"DP_{name}_HEALTHCHECKS"].split(",")} for name in ("ENABLE", "DISABLE")
    )
    # Not "all": with it the plugin watches for no Xid, whatever else is enabled (``checkHealth``).
    ignored = ({*OF_APPLICATIONS, 109} | disabled) - enabled
    assert not ignored & fatal
    assert enabled <= fatal


def test_the_labs_image_is_the_one_that_is_named(pod: Any) -> None:
    (container,) = pod["containers"]
    (image,) = (one for one in image_contents.load(gpus=True).images if one.gpus)
    (tool,) = load_spec().select([image.tool])
    assert container["image"] == f"{image.name}:{image.tag.format(version=tool.version)}"
    assert "command" not in container, "the two images have the program in different places"


def test_who_has_no_gpus_makes_no_image_for_them() -> None:
    assert not any(image.gpus for image in image_contents.load().images)
    spec = load_spec()
    on_demand = {tool.name for tool in spec.tools if tool.on_demand}
    assert nvidia_gpus.NAME in on_demand
    assert not on_demand & {tool.name for tool in spec.select([])}


@pytest.mark.engine
def test_the_api_server_takes_it_and_its_pods(
    declared: dict[str, Any], pod: Any, quota: dict[str, Any], cluster: ApiServer
) -> None:
    def create(document: Any, *words: str) -> Any:
        asked = ("create", "--validate=strict", "--output=json", "--filename=-", *words)
        return json.loads(cluster.kubectl(*asked, stdin=json.dumps(document)))

    create(declared["RuntimeClass"])
    create(quota)
    counted = ("resourcequota", quota["metadata"]["name"], "--namespace=kube-system")
    eventually(lambda: cluster.get(*counted)["status"], what="the quota is counted")
    made = create(declared["DaemonSet"], "--dry-run=server")
    assert made["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == AT_ONCE
    meta = {"name": "x", "namespace": "kube-system"}
    made = create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}, "--dry-run=server")
    assert made["spec"]["nodeSelector"] == {GPU_LABEL: "true"}
    assert made["spec"]["priority"] > 2_000_000_000


@pytest.mark.engine
def test_the_class_that_gives_all_gpus_is_had_in_kubernetes_own_namespace_alone(
    declared: dict[str, Any], cluster: ApiServer
) -> None:
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        cluster.kubectl("create", "--filename=-", stdin=json.dumps(declared[kind]))
    if "nvidia" not in cluster.kubectl("get", "runtimeclasses", "--output=name"):
        cluster.kubectl("create", "--filename=-", stdin=json.dumps(declared["RuntimeClass"]))

    def made(namespace: str, **more: Any) -> str:
        words = ("create", "--dry-run=server", f"--namespace={namespace}", "--filename=-")
        return cluster.kubectl(*words, stdin=json.dumps(pod("x", **more)), check=False)

    eventually(
        lambda: nvidia_gpus.ALL_GPUS in made("default", runtimeClassName="nvidia"), what="the policy is in force"
    )
    assert "created" in made("default")
    assert "created" in made("kube-system", runtimeClassName="nvidia")
