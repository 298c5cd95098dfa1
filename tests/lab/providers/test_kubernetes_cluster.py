"""The kubernetes stand-in against a real API server: its requests, and its waits."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2

from contract.kubernetes.connection import ApiError
from lab import tools
from lab.providers import kubernetes_apply as apply
from lab.providers.kubernetes_await import ObjectNotReadyError, await_deleted, await_ready
from lab.providers.kubernetes_client import NoMatchError, ObjectClient
from lab.providers.kubernetes_config import load_access
from lab.providers.kubernetes_settings import KubernetesSettings
from lab.providers.values import from_struct, to_struct
from tests.lab.providers.plugins import running
from tests.support.api_server import ApiServer, api_server, eventually

pytestmark = pytest.mark.engine

TOOLS = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]
PLAIN, UPSERT = KubernetesSettings(), KubernetesSettings(upsert=True)
FORCED = KubernetesSettings(upsert=True, patch_force=True)
Object = dict[str, Any]


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    binaries = tools.ensure(TOOLS, log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    folder = tmp_path_factory.mktemp("cluster")
    with api_server(folder, tools=binaries, services=IPv4Network("10.79.0.0/17")) as server:
        server.start_controllers()
        yield server


@pytest.fixture(name="client")
def _client(server: ApiServer) -> ObjectClient:
    return ObjectClient(load_access(str(server.kubeconfig)))


def config_map(name: str, *, namespace: str = "default", **data: str) -> Object:
    meta: Object = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def create(client: ObjectClient, obj: Object, *, settings: KubernetesSettings = UPSERT, manager: str = "me") -> Object:
    return apply.create(client, obj, settings=settings, manager=manager, preview=False)


def update(
    client: ObjectClient, obj: Object, live: Object, *, settings: KubernetesSettings = UPSERT, manager: str = "me"
) -> Object:
    return apply.update(client, obj, live, settings=settings, manager=manager, preview=False)


def managers(live: Object) -> set[tuple[str, str]]:
    return {(one["manager"], one["operation"]) for one in live["metadata"]["managedFields"]}


def test_what_exists_is_refused_or_taken_over_as_the_provider_says(client: ObjectClient) -> None:
    create(client, config_map("exists", a="1"), settings=PLAIN)
    with pytest.raises(ApiError, match=r"already exists.*set upsertExistingObjects"):
        create(client, config_map("exists", a="2"), settings=PLAIN)
    with pytest.raises(ApiError, match=r'managed by field manager "me" had an apply conflict.*patchForce'):
        create(client, config_map("exists", a="2"))
    assert create(client, config_map("exists", a="2"), settings=FORCED)["data"] == {"a": "2"}


def test_the_first_change_takes_over_the_fields_of_the_creation(client: ObjectClient) -> None:
    live = create(client, config_map("handed", a="1", b="2"), settings=PLAIN)
    assert managers(live) == {("pulumi-kubernetes", "Update")}
    changed = update(client, config_map("handed", a="1"), live)
    assert changed["data"] == {"a": "1"}, "what the program took out is gone, not left to the creator"
    assert managers(changed) == {("me", "Apply")}


def test_what_kubectl_changed_is_changed_back_and_what_others_did_is_not(
    client: ObjectClient, server: ApiServer
) -> None:
    live = create(client, config_map("shared", a="1"))
    patch = ("patch", "configmap", "shared", "--type=merge", "--patch")
    server.kubectl(*patch, '{"data":{"a":"2"}}')
    assert update(client, config_map("shared", a="1"), live)["data"] == {"a": "1"}
    server.kubectl(*patch, '{"data":{"a":"3","c":"4"}}', "--field-manager=autoscaler")
    with pytest.raises(ApiError, match='conflict with "autoscaler"'):
        update(client, config_map("shared", a="1"), live)
    found = update(client, config_map("shared", a="1"), live, settings=FORCED)
    assert found["data"] == {"a": "1", "c": "4"}


def test_a_preview_changes_nothing(client: ObjectClient) -> None:
    for settings in (PLAIN, UPSERT):
        apply.create(client, config_map("dry", a="1"), settings=settings, manager="me", preview=True)
    assert client.get("v1", "ConfigMap", namespace="default", name="dry") is None


def test_a_namespace_that_is_made_beside_it_is_waited_for(client: ObjectClient) -> None:
    asked = threading.Event()

    class Watched(ObjectClient):
        def wait(self, seconds: float) -> None:
            asked.set()
            super().wait(seconds)

    def make() -> None:
        asked.wait(300)
        client.send("POST", "/api/v1/namespaces", body={"metadata": {"name": "late"}})

    made = threading.Thread(target=make)
    made.start()
    create(Watched(client.access), config_map("early", namespace="late"))
    made.join()


def test_a_kind_or_a_field_that_there_is_not_is_refused(client: ObjectClient) -> None:
    with pytest.raises(NoMatchError, match='no matches for kind "Job" in version "batch/v9"'):
        client.resource("batch/v9", "Job")
    with pytest.raises(ApiError, match="field not declared in schema"):
        create(client, {**config_map("odd"), "dta": {}})


def test_a_deletion_waits_for_finalizers(client: ObjectClient) -> None:
    obj = config_map("held")
    obj["metadata"]["finalizers"] = ["example.com/hold"]
    live = create(client, obj)
    assert apply.delete(client, live, {})
    with pytest.raises(ObjectNotReadyError) as held:
        await_deleted(client, live, timeout_s=1)
    assert held.value.reasons == ["finalizers might be preventing deletion (example.com/hold)"]
    path = "/api/v1/namespaces/default/configmaps/held"
    release = {"metadata": {"finalizers": None}}
    merge = "application/merge-patch+json"
    letting_go = threading.Thread(target=lambda: client.send("PATCH", path, body=release, content_type=merge))
    letting_go.start()
    await_deleted(client, live, timeout_s=300)
    letting_go.join()
    assert not apply.delete(client, live, {}), "what is gone is gone"


SERVICE: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
POD_SPEC: Object = {"containers": [{"name": "a", "image": "b"}], "automountServiceAccountToken": False}


def of(kind: str, name: str, *, api: str = "v1", annotations: dict[str, str] | None = None, **more: Any) -> Object:
    meta = {"name": name, "namespace": "default", "annotations": annotations or {}}
    return {"apiVersion": api, "kind": kind, "metadata": meta, **more}


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (of("Service", "outside", spec={"type": "LoadBalancer", "ports": [{"port": 1}]}), "given it an address"),
        (of("ConfigMap", "waits", annotations={"pulumi.com/waitFor": "condition=Happy"}), "its condition Happy"),
        (
            of(
                "Job",
                "job",
                api="batch/v1",
                spec={"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}},
            ),
            "succeeded",
        ),
    ],
)
def test_what_does_not_get_ready_says_what_it_lacks(client: ObjectClient, obj: Object, said: str) -> None:
    live = create(client, obj)
    with pytest.raises(ObjectNotReadyError, match=r"timed out waiting to be Ready") as late:
        await_ready(client, obj, live, timeout_s=1)
    assert said in "; ".join(late.value.reasons)


@pytest.mark.parametrize(
    "obj",
    [
        of("Service", "named", spec={"type": "ExternalName", "externalName": "example.com"}),
        of("Service", "headless", spec={"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 1}]}),
        of("ServiceAccount", "account"),
        of("Pod", "skipped", annotations={"pulumi.com/skipAwait": "true"}, spec=POD_SPEC),
    ],
)
def test_what_waits_for_nothing_is_ready(server: ApiServer, client: ObjectClient, obj: Object) -> None:
    eventually(lambda: "default" in server.kubectl("get", "serviceaccounts", "--output=name"), what="pods can be made")
    live = create(client, obj)
    assert await_ready(client, obj, live, timeout_s=300)["metadata"]["name"] == obj["metadata"]["name"]


def test_a_service_is_ready_when_its_pods_are(client: ObjectClient, server: ApiServer) -> None:
    eventually(lambda: "default" in server.kubectl("get", "serviceaccounts", "--output=name"), what="pods can be made")
    service = of("Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
    live = create(client, service)
    client.send("POST", "/api/v1/nodes", body={"metadata": {"name": "node"}})
    server.kubectl("run", "web", "--image=x", "--labels=app=web", '--overrides={"spec":{"nodeName":"node"}}')
    path = "/api/v1/namespaces/default/pods/web"

    def ready(value: str) -> None:
        conditions = [{"type": "Ready", "status": value}]
        address = {"podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]}
        body = {"status": {"phase": "Running", "conditions": conditions, **address}}
        kind = "application/strategic-merge-patch+json"
        client.send("PATCH", f"{path}/status", body=body, content_type=kind)

    ready("False")

    def seen() -> Any:
        return (client.get("v1", "Endpoints", namespace="default", name="web") or {}).get("subsets")

    eventually(seen, what="the pod is seen")
    with pytest.raises(ObjectNotReadyError, match="timed out"):
        await_ready(client, service, live, timeout_s=1)
    becoming = threading.Thread(target=ready, args=("True",))
    becoming.start()
    await_ready(client, service, live, timeout_s=300)
    becoming.join()


def test_a_cancelled_wait_ends_at_once_and_keeps_what_is_there(client: ObjectClient) -> None:
    obj = of("Service", "cancelled", spec={"type": "LoadBalancer", "ports": [{"port": 1}]})
    live = create(client, obj)
    cancelling = threading.Timer(0.2, client.cancel)
    cancelling.start()
    with pytest.raises(ObjectNotReadyError, match="Resource operation was cancelled for 'cancelled'") as ended:
        await_ready(client, obj, live, timeout_s=600)
    assert ended.value.live["metadata"]["name"] == "cancelled"
    cancelling.join()


@pytest.fixture(scope="module", name="plugin")
def _plugin(root: Path, server: ApiServer) -> Iterator[Any]:
    command = root / "lab" / "providers" / "bin" / "pulumi-resource-kubernetes"
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(server.kubeconfig)}
    with running(command, environment) as stub:
        stub.Configure(provider_pb2.ConfigureRequest(variables={}))
        yield stub


URN = "urn:pulumi:t::p::parent$kubernetes:{}::x"


def test_the_default_namespace_is_given_to_what_lives_in_one(plugin: Any) -> None:
    for token, kind, expected in (("core/v1:ConfigMap", "ConfigMap", "default"), ("core/v1:Node", "Node", None)):
        news = to_struct({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})
        checked = plugin.Check(provider_pb2.CheckRequest(urn=URN.format(token), news=news))
        assert from_struct(checked.inputs)["metadata"].get("namespace") == expected


def test_a_preview_is_the_api_servers(plugin: Any) -> None:
    inputs = of("Service", "previewed", spec={"ports": [{"port": 80}]})
    made = plugin.Create(
        provider_pb2.CreateRequest(urn=URN.format("core/v1:Service"), properties=to_struct(inputs), preview=True)
    )
    assert from_struct(made.properties)["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    broken = of("Service", "previewed", spec={"ports": [{"port": 80_000}]})
    with pytest.raises(grpc.RpcError) as refused:
        plugin.Create(
            provider_pb2.CreateRequest(urn=URN.format("core/v1:Service"), properties=to_struct(broken), preview=True)
        )
    assert "Service default/previewed was not created" in str(refused.value.details())
    assert "must be between 1 and 65535" in str(refused.value.details())


def test_what_exists_is_imported(plugin: Any, client: ObjectClient) -> None:
    create(client, config_map("imported", a="1"))
    urn = URN.format("core/v1:ConfigMap")
    found = plugin.Read(provider_pb2.ReadRequest(id="default/imported", urn=urn))
    inputs = from_struct(found.inputs)
    assert inputs["data"] == {"a": "1"}
    assert "uid" not in inputs["metadata"]
    diff = plugin.Diff(provider_pb2.DiffRequest(urn=urn, olds=found.properties, news=found.inputs))
    assert diff.changes == provider_pb2.DiffResponse.DIFF_NONE
    assert plugin.Read(provider_pb2.ReadRequest(id="default/nobody", urn=urn)).id == ""
