"""Device plugins for RDMA networks: which environments have which, on which nodes, and with what rights."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.model import Environment
from components.model.hosts.section import Host
from components.objects import efa, rdma
from contract.annotations import SKIP_AWAIT
from longhaul.artifacts import image_contents
from longhaul.toolchain.spec import load as load_spec
from tests.model import make
from tests.support.api_server import ApiServer
from tests.support.declared import plain
from tests.support.whole import declare_objects

IMAGE = f"registry.example.com/eks/aws-efa-k8s-device-plugin:v0.5.8@sha256:{'0' * 64}"
P5 = {"site": "use1", "machine_type": "p5.48xlarge", "max": 4}
ND = {"site": "weu", "machine_type": "Standard_ND96isr_H100_v5", "max": 4}
POOL, HOST = "longhaul.dev/pool", "longhaul.dev/rdma"


def environment(
    *, pools: dict[str, Any], hosts: tuple[dict[str, Any], ...] = (), image: str | None = IMAGE
) -> Environment:
    raw = make.full()
    del raw["bare_metal"], raw["machine_types"], raw["teams"], raw["autoscaler"]
    raw |= {"pools": pools, "images": {"efa_device_plugin": image} if image else {}}
    listed = tuple(Host(name=f"h{index}", site="colo", **host) for index, host in enumerate(hosts))
    return make.environment(raw).model_copy(update={"hosts": listed})


EVERYTHING = environment(
    pools={"h100": {**P5, "efa": True}, "plain": P5, "nd": ND, "nd2": ND},
    hosts=({"rdma": "roce"}, {"rdma": "infiniband"}, {}),
)


def declared(of: Environment) -> dict[str, dict[str, Any]]:
    """Return what is declared for RDMA networks, by kind and name."""
    found = [plain(one.inputs) for one in declare_objects(of).clouds()]
    ours = [
        one for one in found if one.get("metadata", {}).get("labels", {}).get("app.kubernetes.io/name") == rdma.PART
    ]
    return {f"{one['kind']} {one['metadata']['name']}": one for one in ours}


@pytest.fixture(scope="module", name="objects")
def _objects() -> dict[str, dict[str, Any]]:
    return declared(EVERYTHING)


def pod_of(objects: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    pod: dict[str, Any] = objects[f"DaemonSet {name}"]["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize(
    ("of", "plugins"),
    [
        ({"pools": {"cpu": {**P5, "machine_type": "m7i.xlarge"}}}, set()),
        ({"pools": {"h100": P5}}, set()),
        ({"pools": {"h100": {**P5, "efa": True}}}, {"efa-device-plugin"}),
        ({"pools": {"h100": {**P5, "efa": True}}, "image": None}, set()),
        ({"pools": {"nd": ND}}, {"rdma-device-plugin-infiniband"}),
        ({"pools": {}, "hosts": ({"rdma": "roce"},)}, {"rdma-device-plugin-roce"}),
    ],
    ids=["none", "p5-without", "efa", "efa-without-image", "azure", "hosts"],
)
def test_an_environment_has_the_plugins_of_its_networks(of: dict[str, Any], plugins: set[str]) -> None:
    found = declared(environment(**of))
    assert {name.removeprefix("DaemonSet ") for name in found if name.startswith("DaemonSet")} == plugins


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("efa-device-plugin", [(POOL, ["h100"])]),
        ("rdma-device-plugin-infiniband", [(POOL, ["nd", "nd2"]), (HOST, ["infiniband"])]),
        ("rdma-device-plugin-roce", [(HOST, ["roce"])]),
    ],
)
def test_a_plugin_runs_on_nodes_of_its_network_alone(
    objects: dict[str, Any], name: str, terms: list[tuple[str, list[str]]]
) -> None:
    pod = pod_of(objects, name)
    chosen = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    said = [(one["key"], one["operator"], one["values"]) for term in chosen for one in term["matchExpressions"]]
    assert said == [(key, "In", values) for key, values in terms]
    assert all(len(term["matchExpressions"]) == 1 for term in chosen), "terms are alternatives, expressions are not"
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "system-node-critical"
    assert pod["automountServiceAccountToken"] is False
    assert objects[f"DaemonSet {name}"]["metadata"]["annotations"][SKIP_AWAIT] == "true"


def test_the_shared_plugin_has_no_rights_and_changes_nothing_of_its_host(objects: dict[str, Any]) -> None:
    pod = pod_of(objects, "rdma-device-plugin-infiniband")
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    of_host = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    assert of_host == {"plugins": "/var/lib/kubelet/device-plugins", "devices": "/dev/infiniband"}
    assert [one["name"] for one in container["volumeMounts"] if not one.get("readOnly")] == ["plugins"]
    assert container["resources"]["requests"]


@pytest.mark.parametrize(("kind", "link"), [("infiniband", "infiniband"), ("roce", "ether")])
def test_the_shared_plugin_offers_adapters_of_its_network_to_every_pod(
    objects: dict[str, Any], kind: str, link: str
) -> None:
    name = f"rdma-device-plugin-{kind}"
    files = objects[f"ConfigMap {name}"]["data"]
    (offered,) = json.loads(files["config.json"])["configList"]
    assert offered == {
        "resourceName": kind,
        "rdmaHcaMax": 16,
        "selectors": {"vendors": ["15b3"], "linkTypes": [link]},
    }
    pod = pod_of(objects, name)
    (container,) = pod["containers"]
    (folder,) = (one["mountPath"] for one in container["volumeMounts"] if one["name"] == "config")
    assert {"name": "PCIDB_PATH", "value": f"{folder}/pci.ids"} in container["env"], "without it the plugin ends"
    assert (folder, "pci.ids" in files) == ("/k8s-rdma-shared-dev-plugin", True)
    (volume,) = (one for one in pod["volumes"] if one["name"] == "config")
    assert volume["configMap"]["name"] == name


def test_a_changed_configuration_makes_new_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    def annotations() -> Any:
        spec: Any = rdma.plugin_spec(EVERYTHING, rdma.Rdma.ROCE)
        return spec["template"]["metadata"]["annotations"]

    before = annotations()
    monkeypatch.setattr(rdma, "PCI_IDS", "ffff  Other\n")
    assert annotations() != before


def test_the_plugin_of_aws_is_the_image_of_the_file(objects: dict[str, Any]) -> None:
    (container,) = pod_of(objects, efa.NAME)["containers"]
    assert container["image"] == IMAGE
    assert "privileged" not in container["securityContext"], "it has no more rights than AWS's chart gave v0.5.8"
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_labs_image_is_the_one_that_is_named(objects: dict[str, Any]) -> None:
    (container,) = pod_of(objects, "rdma-device-plugin-roce")["containers"]
    (image,) = (one for one in image_contents.load(rdma=True).images if one.rdma)
    (tool,) = load_spec().select([image.tool])
    assert container["image"] == f"{image.name}:{image.tag.format(version=tool.version)}"
    assert not {"command", "args"} & set(container), "the official image has its program elsewhere, as its command"
    assert not any(image.rdma for image in image_contents.load(gpus=True).images)


@pytest.mark.engine
def test_the_api_server_takes_them(objects: dict[str, Any], cluster: ApiServer) -> None:
    for document in objects.values():
        asked = ("create", "--validate=strict", "--output=json", "--filename=-", "--dry-run=server")
        made = json.loads(cluster.kubectl(*asked, stdin=json.dumps(document)))
        assert made["metadata"]["name"] == document["metadata"]["name"]
