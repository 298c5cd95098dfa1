"""Effects of the objects in a real API server: permissions, pods, DNS."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from components.model import load, plan
from components.model.network.api_address import api_address
from components.model.secrets.certificates import ADMINISTRATORS_GROUP, KUBELET_CLIENTS, NODE_CONTROLLER
from components.objects import dns, metadata_service, network_policy_warning, training_tolerations
from contract.labels import HOST_NETWORK_LABEL, OUTLIVE_LABEL
from contract.taints import CUT
from contract.users import BOOTSTRAPPERS, JOIN_USER
from lab.providers.kubernetes_client import ObjectClient
from lab.providers.kubernetes_config import load_access
from tests.support.api_server import ApiServer, eventually
from tests.support.hosts import STACKS
from tests.support.ports import free_ports

pytestmark = pytest.mark.engine

SYSTEM = ("--namespace", "kube-system")


def may(cluster: ApiServer, who: dict[str, Any], verb: str, group: str, resource: str, where: str = "") -> bool:
    """Ask the API server itself. ``resource`` is ``<resource>[/<subresource>]``, ``where`` ``[<namespace>:]<name>``."""
    kind, _, subresource = resource.partition("/")
    namespace, _, name = where.rpartition(":")
    attributes = {"verb": verb, "group": group, "resource": kind, "subresource": subresource}
    attributes |= {"namespace": namespace, "name": name}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    client = ObjectClient(load_access(str(cluster.kubeconfig)))
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = client.send("POST", path, body={**review, "spec": {**who, "resourceAttributes": attributes}})
    return bool(answer["status"]["allowed"])


def test_an_administrator_is_known_by_name_is_not_limited_and_can_be_cut_off(applied: ApiServer) -> None:
    anna = applied.user("anna@example.com", organizations=(ADMINISTRATORS_GROUP,))
    who = json.loads(applied.kubectl("auth", "whoami", "--output", "json", kubeconfig=anna))["status"]["userInfo"]
    assert who["username"] == "anna@example.com"
    assert set(who["groups"]) == {ADMINISTRATORS_GROUP, "system:authenticated"}
    access = load_access(str(anna))
    with closing(HTTPSConnection(access.host, access.port, context=access.context)) as connection:
        connection.request("GET", "/api/v1/namespaces")
        response = connection.getresponse()
    assert response.status == 200
    exempt = applied.get("prioritylevelconfiguration", "exempt")["metadata"]["uid"]
    assert response.headers["X-Kubernetes-PF-PriorityLevel-UID"] == exempt
    binding = applied.get("clusterrolebinding", ADMINISTRATORS_GROUP)
    applied.kubectl("delete", "clusterrolebinding", ADMINISTRATORS_GROUP)
    try:
        refused = applied.kubectl("get", "namespaces", kubeconfig=anna, check=False)
        assert "Forbidden" in refused
    finally:
        del binding["metadata"]["uid"], binding["metadata"]["resourceVersion"]
        applied.kubectl("create", "-f", "-", stdin=json.dumps(binding))


TOKEN = "abcdef.0123456789abcdef"
CONTROLLER = {"user": NODE_CONTROLLER}
JOINING = {"user": JOIN_USER}
NODE = {"user": "system:node:a", "groups": ["system:nodes"]}
API = {"user": "kube-apiserver-kubelet-client", "groups": [KUBELET_CLIENTS]}
ADMINISTRATOR = {"user": "anna@example.com", "groups": [ADMINISTRATORS_GROUP]}
CSR = "certificates.k8s.io"
LEASE = "coordination.k8s.io"
CLIENTS, SERVING = ":kubernetes.io/kube-apiserver-client-kubelet", ":kubernetes.io/kubelet-serving"


@pytest.mark.parametrize(
    ("who", "what"),
    [
        (CONTROLLER, ("watch", CSR, "certificatesigningrequests")),
        (CONTROLLER, ("update", CSR, "certificatesigningrequests/approval")),
        (CONTROLLER, ("approve", CSR, "signers", CLIENTS)),
        (CONTROLLER, ("approve", CSR, "signers", SERVING)),
        (CONTROLLER, ("watch", "", "nodes")),
        (CONTROLLER, ("patch", "", "nodes")),
        (CONTROLLER, ("delete", "", "nodes")),
        (CONTROLLER, ("list", "", "pods")),
        (CONTROLLER, ("patch", LEASE, "leases", "kube-system:longhaul-node-controller")),
        (CONTROLLER, ("get", LEASE, "leases", "kube-node-lease:a")),
        (CONTROLLER, ("watch", "", "configmaps", "kube-system:longhaul-environment")),
        (CONTROLLER, ("delete", "", "secrets", "kube-system:bootstrap-token-abcdef")),
        (CONTROLLER, ("create", "", "events", "default:")),
        (CONTROLLER, ("create", "", "events", "kube-system:")),
        (JOINING, ("create", CSR, "certificatesigningrequests")),
        (JOINING, ("get", CSR, "certificatesigningrequests")),
        (JOINING, ("get", "", "configmaps", "kube-system:longhaul-environment")),
        (JOINING, ("create", "", "events", "default:")),
        (NODE, ("watch", "discovery.k8s.io", "endpointslices")),
        (API, ("create", "", "nodes/proxy", ":a")),
        (ADMINISTRATOR, ("delete", "", "secrets", "kube-system:a")),
        (ADMINISTRATOR, ("impersonate", "", "users", ":anybody")),
    ],
)
def test_what_is_allowed(applied: ApiServer, who: dict[str, Any], what: tuple[str, ...]) -> None:
    assert may(applied, who, *what)


@pytest.mark.parametrize(
    ("who", "what"),
    [
        (CONTROLLER, ("approve", CSR, "signers", ":kubernetes.io/kube-apiserver-client")),
        (CONTROLLER, ("sign", CSR, "signers", CLIENTS)),
        (CONTROLLER, ("update", CSR, "certificatesigningrequests/status")),
        (CONTROLLER, ("create", CSR, "certificatesigningrequests")),
        (CONTROLLER, ("create", "", "nodes")),
        (CONTROLLER, ("list", "", "secrets", "kube-system:")),
        (CONTROLLER, ("get", "", "secrets", "kube-system:bootstrap-token-abcdef")),
        (CONTROLLER, ("deletecollection", "", "secrets", "kube-system:")),
        (CONTROLLER, ("delete", "", "secrets", "default:a")),
        (CONTROLLER, ("get", "", "configmaps", "kube-system:coredns")),
        (CONTROLLER, ("patch", LEASE, "leases", "kube-system:kube-scheduler")),
        (CONTROLLER, ("patch", LEASE, "leases", "kube-node-lease:a")),
        (CONTROLLER, ("delete", "", "pods")),
        (JOINING, ("update", CSR, "certificatesigningrequests/approval")),
        (JOINING, ("update", CSR, "certificatesigningrequests/status")),
        (JOINING, ("approve", CSR, "signers", CLIENTS)),
        (JOINING, ("sign", CSR, "signers", CLIENTS)),
        (JOINING, ("list", CSR, "certificatesigningrequests")),
        (JOINING, ("delete", CSR, "certificatesigningrequests")),
        (JOINING, ("get", "", "secrets", "kube-system:bootstrap-token-abcdef")),
        (JOINING, ("get", "", "configmaps", "kube-system:coredns")),
        (JOINING, ("get", "", "nodes", ":a")),
        (API, ("delete", "", "nodes", ":a")),
        (API, ("get", "", "secrets", "kube-system:a")),
    ],
)
def test_what_is_not(applied: ApiServer, who: dict[str, Any], what: tuple[str, ...]) -> None:
    assert not may(applied, who, *what)


def secret(name: str, *, host: str = "", kind: str = "Opaque", **values: str) -> str:
    labels = {"longhaul.dev/node": host} if host else {}
    metadata = {"name": name, "namespace": "kube-system", "labels": labels}
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata, "stringData": values})


def test_the_controller_deletes_tokens_of_hosts_and_no_other_secret(applied: ApiServer) -> None:
    token = "bootstrap.kubernetes.io/token"
    others = [secret("plain"), secret("bootstrap-token-plain1", host="a"), secret("bootstrap-token-foreig", kind=token)]
    for text in (*others, secret("bootstrap-token-ofhost", host="a", kind=token)):
        applied.kubectl("create", "--filename=-", stdin=text)
    controller = applied.user(NODE_CONTROLLER)

    def said(name: str) -> str:
        words = ("delete", "--raw", f"/api/v1/namespaces/kube-system/secrets/{name}")
        return applied.kubectl(*words, kubeconfig=controller, check=False)

    for name in ("plain", "bootstrap-token-plain1", "bootstrap-token-foreig"):
        assert "deletes one-time tokens of hosts and no other Secret" in said(name)
        assert applied.get("secret", name, *SYSTEM)
    assert json.loads(said("bootstrap-token-ofhost"))["status"] == "Success"


def test_no_secret_gets_a_token_without_an_end(applied: ApiServer) -> None:
    metadata = {"name": "kept", "annotations": {"kubernetes.io/service-account.name": "default"}}
    kept = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": metadata}
    words = ("create", "--dry-run=server", "--namespace=default", "--filename=-")
    refused = lambda: "has no end" in applied.kubectl(*words, stdin=json.dumps(kept), check=False)  # noqa: E731
    eventually(refused, what="the policy holds")
    assert "created" in applied.kubectl(*words, stdin=json.dumps(kept | {"type": "Opaque"}))


def test_a_rack_s_token_may_ask_for_a_certificate_and_nothing_else(applied: ApiServer) -> None:
    id_, _, rest = TOKEN.partition(".")
    given = {"token-id": id_, "token-secret": rest, "usage-bootstrap-authentication": "true"}
    given["auth-extra-groups"] = f"{BOOTSTRAPPERS},{BOOTSTRAPPERS}:host:lab-node-0"
    text = secret(f"bootstrap-token-{id_}", host="lab-node-0", kind="bootstrap.kubernetes.io/token", **given)
    applied.kubectl("create", "--filename=-", stdin=text)
    joining = applied.bearer(TOKEN)
    groups = applied.kubectl("auth", "whoami", "--output", "json", kubeconfig=joining)
    assert set(json.loads(groups)["status"]["userInfo"]["groups"]) == {
        "system:bootstrappers",
        "system:bootstrappers:longhaul",
        "system:bootstrappers:longhaul:host:lab-node-0",
        "system:authenticated",
    }

    def can(*what: str) -> bool:
        return applied.kubectl("auth", "can-i", *what, kubeconfig=joining, check=False).strip() == "yes"

    assert all(can(verb, "csr") for verb in ("create", "get", "list", "watch"))
    assert not can("update", "csr", "--subresource=approval")
    assert not can("list", "nodes")
    assert not can("get", "configmaps", *SYSTEM)
    assert not can("get", "secrets", *SYSTEM)


def pod(applied: ApiServer, *, namespace: str = "default", labels: dict[str, str] | None = None, **spec: Any) -> Any:
    """Return the pod that the API server would make, or its refusal as text."""
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": namespace, "labels": labels or {}},
        "spec": {"containers": [{"name": "a", "image": "b"}], **spec},
    }
    return applied.requests().makes(document, dry=True)


def tolerated(made: Any) -> dict[str, int | None]:
    """Return the seconds by taint; none for a pod that is refused because its namespace is too new."""
    found = made["spec"].get("tolerations", []) if isinstance(made, dict) else []
    return {one.get("key", "any"): one.get("tolerationSeconds") for one in found}


FOREVER = {"key": CUT[1], "operator": "Exists", "effect": "NoExecute"}
LONG = dict.fromkeys(CUT, training_tolerations.TOLERATION_S)
DEFAULT = dict.fromkeys(CUT, training_tolerations.DEFAULT_TOLERATION_S)


PODS, LEASES = "/api/v1/pods", "/apis/coordination.k8s.io/v1/namespaces"


@pytest.mark.parametrize(
    ("user", "group", "path", "schema"),
    [
        ("system:serviceaccount:default:any", "system:serviceaccounts", PODS, "longhaul-lists"),
        ("system:serviceaccount:default:any", "system:serviceaccounts", f"{PODS}?watch=1", "longhaul-lists"),
        ("system:serviceaccount:default:any", "system:serviceaccounts", "/api/v1/nodes/none", "service-accounts"),
        ("somebody", "people", "/api/v1/nodes", "longhaul-lists"),
        ("somebody", "people", "/api/v1/nodes/none", "global-default"),
        ("system:serviceaccount:kube-system:any", "system:serviceaccounts", PODS, "kube-system-service-accounts"),
        ("system:kube-controller-manager", "system:any", PODS, "kube-controller-manager"),
        ("system:node:a", "system:nodes", PODS, "system-nodes"),
        ("system:node:a", "system:nodes", f"{LEASES}/kube-node-lease/leases/a", "system-node-high"),
        (JOIN_USER, "system:any", f"{PODS}?limit=1", "longhaul-controllers"),
        (NODE_CONTROLLER, "system:any", PODS, "longhaul-controllers"),
        (NODE_CONTROLLER, "system:any", f"{LEASES}/kube-node-lease/leases/a", "longhaul-controllers"),
        (NODE_CONTROLLER, "system:any", f"{LEASES}/kube-system/leases/any", "longhaul-leader-election"),
    ],
)
def test_a_request_has_the_share_that_is_meant_for_it(
    applied: ApiServer, user: str, group: str, path: str, schema: str
) -> None:
    """The API server says in every answer, also in a refusal, which schema a request was of."""
    uid = applied.get("flowschema", schema)["metadata"]["uid"]
    assert answer(applied, user, group, path)[1] == uid


def answer(cluster: ApiServer, user: str, group: str, path: str) -> tuple[int, str | None]:
    """Return the status of a user's request, and the schema that it was of."""
    access = load_access(str(cluster.kubeconfig))
    with closing(HTTPSConnection(access.host, access.port, context=access.context)) as connection:
        connection.putrequest("GET", path)
        for name, value in (("User", user), ("Group", group), ("Group", "system:authenticated")):
            connection.putheader(f"Impersonate-{name}", value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.getheader("X-Kubernetes-Pf-Flowschema-Uid")


NARROW = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
"""Share of a level that serves one request at a time."""
REFUSED_S = 60.0
FLOOD = 8
"""Number of clients that list without a pause."""


def test_while_lists_are_refused_all_else_is_served(applied: ApiServer) -> None:
    """Under a flood lists get 429, once their level has no seat left and no queue. Heartbeats, controllers, and the
    flooding client's own other requests get their answer, if only a 403."""
    level = ("prioritylevelconfiguration", "longhaul-lists")
    declared = applied.get(*level)["spec"]
    narrow = {"type": "Limited", "limited": {**NARROW, "limitResponse": {"type": "Reject"}}}
    client = ("system:serviceaccount:default:any", "system:serviceaccounts")
    others = (
        (*client, "/api/v1/nodes/none"),
        ("system:serviceaccount:kube-system:any", "system:serviceaccounts", PODS),
        ("system:node:a", "system:nodes", f"{LEASES}/kube-node-lease/leases/a"),
        ("system:kube-controller-manager", "system:any", PODS),
        ("system:kube-scheduler", "system:any", PODS),
        (NODE_CONTROLLER, "system:any", "/api/v1/nodes"),
    )
    replaced = ("patch", *level, "--type=json", "--patch")
    refused, over = Event(), Event()

    def flood() -> None:
        while not over.is_set():
            if answer(applied, *client, PODS)[0] == 429:
                refused.set()

    applied.kubectl(*replaced, json.dumps([{"op": "replace", "path": "/spec", "value": narrow}]))
    with ThreadPoolExecutor(FLOOD) as clients:
        try:
            flooding = [clients.submit(flood) for _ in range(FLOOD)]
            assert refused.wait(REFUSED_S)
            assert 429 not in [answer(applied, *one)[0] for one in others]
        finally:
            over.set()
            applied.kubectl(*replaced, json.dumps([{"op": "replace", "path": "/spec", "value": declared}]))
    for one in flooding:
        one.result()


def test_training_pods_bear_a_cut_for_longer(applied: ApiServer) -> None:
    opted = {OUTLIVE_LABEL: "true"}
    eventually(lambda: tolerated(pod(applied, labels=opted)) == LONG, what="the policy holds")
    for name in ("longhaul-training", "longhaul-balloon"):
        eventually(lambda name=name: isinstance(pod(applied, priorityClassName=name), dict), what=f"{name} is known")
    assert tolerated(pod(applied, priorityClassName="longhaul-training")) == LONG
    assert tolerated(pod(applied, priorityClassName="longhaul-training", labels={OUTLIVE_LABEL: "false"})) == DEFAULT
    assert tolerated(pod(applied)) == DEFAULT
    assert tolerated(pod(applied, priorityClassName="longhaul-balloon")) == DEFAULT
    # A toleration that the pod itself has stays, and gets no limit.
    assert tolerated(pod(applied, labels=opted, tolerations=[{"operator": "Exists"}])) == {"any": None}
    assert tolerated(pod(applied, labels=opted, tolerations=[FOREVER])) == {**LONG, CUT[1]: None}


def test_a_pod_in_its_nodes_network_is_refused_where_nobody_allowed_it(applied: ApiServer) -> None:
    applied.kubectl("create", "namespace", "fast")
    applied.kubectl("create", "namespace", "wide")
    for name in ("fast", "wide"):
        applied.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=privileged")
    applied.kubectl("label", "namespace", "fast", f"{HOST_NETWORK_LABEL}={metadata_service.ALLOWED}")
    refused = lambda: metadata_service.REFUSAL in str(pod(applied, namespace="wide", hostNetwork=True))  # noqa: E731
    eventually(refused, what="the policy holds")
    assert isinstance(pod(applied), dict)
    # The API server learns of a namespace, and of its labels, by a watch.
    for namespace in ("fast", "kube-system"):
        allowed = lambda name=namespace: isinstance(pod(applied, namespace=name, hostNetwork=True), dict)  # noqa: E731
        eventually(allowed, what=f"{namespace} may")


def test_whoever_writes_a_network_policy_is_warned_that_it_has_no_effect(applied: ApiServer) -> None:
    """The policy is stored: charts that contain one are installed."""
    path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
    body = {"metadata": {"generateName": "apart-"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}
    access = load_access(str(applied.kubeconfig))

    def warning() -> str:
        with closing(HTTPSConnection(access.host, access.port, context=access.context)) as connection:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert response.status == 201, response.read()
            return response.headers.get("Warning", "")

    eventually(lambda: network_policy_warning.WARNING in warning(), what="the policy holds")


def test_dns_answers_for_services_and_passes_on_the_rest(
    applied: ApiServer, binaries: dict[str, Path], tmp_path: Path
) -> None:
    """Runs real CoreDNS with the real configuration, as its account in the cluster."""
    environment = load(STACKS / "Pulumi.lab.yaml")
    addresses = plan(environment)
    account = applied.user("system:serviceaccount:kube-system:coredns")
    port, *others = free_ports(4)
    config = dns.corefile(environment, addresses)
    for here, there in (
        (".:53 {", f".:{port} {{\n    bind 127.0.0.1"),
        ("health {", f"health 127.0.0.1:{others[0]} {{"),
        ("    ready\n", f"    ready 127.0.0.1:{others[1]}\n"),
        ("prometheus :9153", f"prometheus 127.0.0.1:{others[2]}"),
        ("fallthrough in-addr.arpa", f"fallthrough in-addr.arpa\n        kubeconfig {account}"),
        # Nothing answers there.
        ("/etc/resolv.conf", "127.0.0.1:9"),
    ):
        assert here in config
        config = config.replace(here, there)
    (tmp_path / "Corefile").write_text(config)
    server = applied.get("service", "kube-dns", *SYSTEM)["spec"]["clusterIP"]
    assert server == str(addresses.dns_service)
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen([binaries["coredns"], "-conf", tmp_path / "Corefile"], stdout=log, stderr=log)
    try:
        name = "kube-dns.kube-system.svc.cluster.local"
        eventually(lambda: ask(port, name).endswith(addresses.dns_service.packed), what=f"{name} is answered")
        assert ask(port, "kubernetes.default.svc.cluster.local").endswith(addresses.kubernetes_service.packed)
        assert labels(name) in ask(port, addresses.dns_service.reverse_pointer, kind=12)
        assert code(ask(port, "nobody.default.svc.cluster.local")) == 3
        # Only the control plane's network knows the API's name, and pods of every site answer for it.
        assert ask(port, environment.api_name).endswith(api_address(environment, addresses).packed)
        no_address = ask(port, environment.api_name, kind=28)
        assert (code(no_address), no_address[6:8]) == (0, bytes(2))
        # Questions for a node's name and for other domains go to the network's own DNS, which is away here.
        node = addresses.sites["rack"].nodes[10].reverse_pointer
        assert code(ask(port, node, kind=12)) == code(ask(port, "example.com")) == 2
        assert code(ask(port, f"x.{environment.domain}")) == 2
    finally:
        running.kill()
        running.wait()


def labels(name: str) -> bytes:
    """Return a name in DNS's wire format."""
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def ask(port: int, name: str, *, kind: int = 1) -> bytes:
    """Ask one question and return the answer; empty when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(60)
        asking.connect(("127.0.0.1", port))
        try:
            asking.send(struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels(name) + struct.pack(">2H", kind, 1))
            return asking.recv(4096)
        except (ConnectionRefusedError, TimeoutError):
            return b""


def code(answer: bytes) -> int:
    """Return the response code: 2 is a failure, 3 means that there is no such name."""
    return answer[3] & 15
