"""Rotations of keys in the shared lab, under readers and writers that never stop."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lab import tools
from longhaul.rotate.servers import digests
from tests.lab.test_control_plane import ETCD, ETCDCTL
from tests.support.cloud import instances, resize
from tests.support.killed import command, killed_when
from tests.support.project import Project, eventually, run
from tests.support.shared_lab import ENV, GROUP, MACHINES, SERVERS, SharedLab, ready

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ROTATE = ("rotate", "secrets-encryption", "--json")
ACCOUNTS = ("rotate", "service-accounts", "--json")
PUBLISHED = ("get", "configmap", "extension-apiserver-authentication", "--namespace=kube-system")
OF_SERVERS = ("rotate", "authority-kubernetes", "--json")
TUNNELS = ("rotate", "tunnels", "--json")
GATEWAY = f"{ENV}-gw-0"
MEMBERS = {"etcd": f"{ENV}-etcd-0", "events": f"{ENV}-events-0"}
CONNECTION = re.compile(r"refused|connection reset|EOF|http2: .*connection|GOAWAY|TLS handshake timeout")


@pytest.fixture(name="project", scope="module")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


def stored_with(project: Project, name: str) -> str:
    """Return the name of the key that encrypts a Secret in etcd."""
    stored = project.on(ETCD, f"{ETCDCTL} get --print-value-only /registry/secrets/default/{name} | head -c 64").stdout
    return stored.partition("k8s:enc:secretbox:v1:")[2].partition(":")[0]


@contextmanager
def secrets_in_use(project: Project) -> Iterator[list[str]]:
    """Write and read Secrets during the block; yield the list of what failed."""
    over, failed = threading.Event(), list[str]()

    def asked(*words: str) -> None:
        # A connection to a server that ends is tried again once, as clients do; an answer is not.
        done = project.kubectl(*words, check=False)
        if done.returncode != 0 and CONNECTION.search(done.stderr):
            done = project.kubectl(*words, check=False)
        if done.returncode != 0:
            failed.append(done.stderr)

    def work() -> None:
        number = 0
        while not over.is_set():
            number += 1
            name = f"rotating-{number % 5}"
            word = f"--from-literal=word=w{number}"
            asked("delete", "secret", name, "--ignore-not-found")
            asked("create", "secret", "generic", name, word)
            asked("get", "secrets", "--all-namespaces", "--output=name")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield failed
    finally:
        over.set()
        worker.join()


def test_the_key_is_replaced_and_no_request_fails(project: Project) -> None:
    project.kubectl("create", "secret", "generic", "before", "--from-literal=word=quicksilver")
    former = stored_with(project, "before")
    with secrets_in_use(project) as failed:
        told = json.loads(project.longhaul(*ROTATE).stdout)
    assert failed == []
    (now,) = told["keys"]
    assert (told["phase"], former in told["retired"]) == ("steady", True)
    assert stored_with(project, "before") == now != former
    found = json.loads(project.on(ETCD, "longhaul-node encryption").stdout)
    assert set(found["objects"]) == {now}
    assert json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"] == []


def test_a_readmitted_key_is_told_by_status_kept_by_up_and_retired_again(project: Project) -> None:
    first = json.loads(project.longhaul(*ROTATE).stdout)
    project.longhaul(*ROTATE, "--readmit", first["retired"][-1])
    (half,) = json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"]
    assert (half["phase"], half["keys"]) == ("use", [*first["keys"], first["retired"][-1]])
    project.longhaul("up", "--yes", "--only", "infrastructure")
    assert json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"] == [half]
    last = json.loads(project.longhaul(*ROTATE).stdout)
    assert last["keys"] == first["keys"]


def rotation(project: Project) -> dict[str, Any]:
    """Return the one rotation that status tells."""
    (found,) = json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"]
    return dict(found)


def accepted(project: Project, token: str) -> list[bool]:
    """Return whether each API server believes a token."""
    ask = "curl -sk -o /dev/null -w '%{http_code}'"
    script = f"{ask} -H 'Authorization: Bearer {token}' https://127.0.0.1:6443/api"
    return [project.on(server, script).stdout.strip() != "401" for server in SERVERS]


def token_of(project: Project) -> str:
    return project.kubectl("create", "token", "default").stdout.strip()


def test_the_key_of_tokens_is_replaced_by_runs_that_are_killed_and_no_token_that_lives_is_refused(
    project: Project,
) -> None:
    former = token_of(project)
    with secrets_in_use(project) as failed:
        for told in (
            "all programs learn to trust it",
            "shared-api-0 has service-account.pem",
            "from now on the new key signs",
        ):
            assert killed_when(command(project, *ACCOUNTS), lambda said, told=told: bool(re.search(told, said)))
        project.longhaul("up", "--yes", "--only", "infrastructure")
        half = json.loads(project.longhaul(*ACCOUNTS).stdout)
    assert failed == []
    assert (half["phase"], len(half["keys"])) == ("use", 2)
    assert (rotation(project)["phase"], rotation(project)["until"]) == ("use", half["until"])
    later = token_of(project)
    assert accepted(project, former) == accepted(project, later) == [True, True]
    assert len(json.loads(project.kubectl("get", "--raw", "/openid/v1/jwks").stdout)["keys"]) == 2
    # Nothing that goes on here has a token of the former key any more, so nobody has to wait for a day.
    project.kubectl("rollout", "restart", "deployment/coredns", "--namespace=kube-system")
    project.kubectl("rollout", "status", "deployment/coredns", "--namespace=kube-system", "--timeout=120s")
    with secrets_in_use(project) as failed:
        over = json.loads(project.longhaul(*ACCOUNTS, "--now").stdout)
    assert failed == []
    assert (over["phase"], over["keys"]) == ("steady", half["keys"][:1])
    assert (accepted(project, former), accepted(project, later)) == ([False, False], [True, True])
    assert project.await_healthy()["rotations"] == []


def test_an_authority_is_replaced_with_what_it_signed(project: Project) -> None:
    with secrets_in_use(project) as failed:
        told = json.loads(project.longhaul("rotate", "authority-front-proxy", "--json").stdout)
    assert failed == []
    assert told["phase"] == "steady"
    for server in SERVERS:
        files = json.loads(project.on(server, "longhaul-node credentials").stdout)["files"]
        assert files["front-proxy-ca.crt"] == told["keys"]
    assert project.await_healthy()["rotations"] == []


def test_certificates_of_people_are_worth_something_until_the_former_authority_goes(project: Project) -> None:
    def asks() -> bool:
        return run([str(tools.bin_dir() / "kubectl"), f"--kubeconfig={former}", "version"], check=False).returncode == 0

    project.kubectl("version")
    former = project.state / "former.kubeconfig"
    former.write_bytes((project.state / "kubeconfig").read_bytes())
    half = json.loads(project.longhaul("rotate", "authority-administrators", "--json").stdout)
    assert (half["phase"], rotation(project)["phase"]) == ("use", "use")
    project.longhaul("kubeconfig")
    assert (project.state / "kubeconfig").read_bytes() != former.read_bytes()
    project.kubectl("version")
    assert asks()
    over = json.loads(project.longhaul("rotate", "authority-administrators", "--now", "--json").stdout)
    assert over["phase"] == "steady"
    project.kubectl("version")
    told = project.kubectl(*PUBLISHED, "--output=jsonpath={.data.client-ca-file}").stdout
    assert ({*half["keys"]} - {*over["keys"]}) & {*digests(told)} == set()
    assert {*over["keys"]} <= {*digests(told)}
    eventually(lambda: not asks())
    assert project.await_healthy()["rotations"] == []


@pytest.mark.parametrize("name", ["etcd", "events", "etcd-client"])
def test_an_authority_of_etcd_is_replaced_by_a_run_that_is_killed_and_the_next(project: Project, name: str) -> None:
    """The etcd clusters have one member here, so the API is away while that starts; the cluster itself goes on."""
    member = MEMBERS.get(name, ETCD)
    words = ("rotate", f"authority-{name}", "--json")
    former = json.loads(project.on(member, "longhaul-node credentials").stdout)["files"]
    assert killed_when(command(project, *words), lambda said: f"{member} has " in said)
    project.longhaul("up", "--yes", "--only", "infrastructure")
    told = json.loads(project.longhaul(*words).stdout)
    assert told["phase"] == "steady"
    (now,) = told["keys"]
    for machine in (*MEMBERS.values(), *SERVERS):
        assert json.loads(project.on(machine, "longhaul-node credentials").stdout)["unused"] == []
    files = json.loads(project.on(member, "longhaul-node credentials").stdout)["files"]
    assert now in files["etcd-client-ca.crt"]
    assert files["etcd-client-ca.crt"] != former["etcd-client-ca.crt"]
    project.kubectl("create", "secret", "generic", f"after-{name}", "--from-literal=word=w")
    assert project.await_healthy()["rotations"] == []


def used(project: Project, node: str) -> list[str]:
    """Return the digests of the authorities of API servers that a node's kubelet uses."""
    return list(digests(project.on(node, "cat /run/longhaul-kubelet/kubernetes-ca.crt").stdout))


def is_known_by(project: Project, authority: str, server: str) -> bool:
    """Return whether who believes this authority alone (PEM) knows an API server."""
    ask = "curl --silent --output /dev/null --cacert /dev/stdin https://127.0.0.1:6443/livez"
    return project.on(server, f"{ask} <<'PEM'\n{authority}\nPEM", check=False).returncode == 0


def grow(project: Project) -> None:
    """Have one more machine, and wait until all are nodes."""
    resize(project, GROUP, MACHINES + 1)

    def are_nodes() -> bool:
        found = instances(project, GROUP)
        return len(found) == MACHINES + 1 and {*found} <= ready(project)

    eventually(are_nodes)


def test_the_authority_of_api_servers_is_replaced_by_runs_that_are_killed_while_machines_come(project: Project) -> None:
    former = project.on(SERVERS[0], "cat /etc/longhaul/pki/kubernetes-ca.crt").stdout
    with secrets_in_use(project) as failed:
        for said in (f"{SERVERS[0]} has .*kubernetes-ca.crt", "waiting"):
            assert killed_when(command(project, *OF_SERVERS), lambda told, said=said: bool(re.search(said, told)))
        half = json.loads(project.longhaul(*OF_SERVERS).stdout)
    assert failed == []
    assert (half["phase"], len(half["keys"])) == ("trust", 2)
    assert (rotation(project)["phase"], rotation(project)["until"]) == ("trust", half["until"])
    assert all(used(project, node) == half["keys"] for node in ready(project))
    # A machine that comes meanwhile, and `up`, which gives hosts what the state has.
    grow(project)
    project.longhaul("up", "--yes")
    assert all(used(project, node) == half["keys"] for node in ready(project))
    assert all(is_known_by(project, former, server) for server in SERVERS)
    # Kubeconfigs from before would have 8 hours.
    project.longhaul("kubeconfig")
    with secrets_in_use(project) as failed:
        assert killed_when(command(project, *OF_SERVERS, "--now"), lambda told: "from now on the new key signs" in told)
        over = json.loads(project.longhaul(*OF_SERVERS, "--now").stdout)
    assert failed == []
    assert (over["phase"], over["keys"]) == ("steady", half["keys"][1:])
    assert all(used(project, node) == over["keys"] for node in ready(project))
    assert not any(is_known_by(project, former, server) for server in SERVERS)
    told = project.kubectl(*PUBLISHED, "--output=jsonpath={.data.client-ca-file}").stdout
    assert half["keys"][0] not in digests(told)
    # One that comes afterwards knows the new one alone. `up` issues certificates once more, and changes nothing else.
    project.longhaul("up", "--yes")
    resize(project, GROUP, MACHINES)
    eventually(lambda: len(instances(project, GROUP)) == MACHINES)
    grow(project)
    resize(project, GROUP, MACHINES)
    assert project.await_healthy()["rotations"] == []


def tunnel_keys(project: Project) -> set[str]:
    """Return the digests of the keys that the gateway has."""
    digest = "while read -r key; do echo $key | sha256sum; done"
    script = f"sed -n 's/^ *secret = 0s//p' /etc/swanctl/conf.d/longhaul.conf | {digest}"
    return set(project.on(GATEWAY, script).stdout.split()) - {"-"}


def test_the_keys_of_tunnels_are_replaced_by_runs_that_are_killed_and_every_tunnel_comes_up_with_them(
    project: Project,
) -> None:
    former = tunnel_keys(project)
    assert len(former) == 3, "one to Azure, two to AWS"
    assert killed_when(command(project, *TUNNELS), lambda said: "from now on the new key signs" in said)
    assert former < tunnel_keys(project)
    assert killed_when(command(project, *TUNNELS), lambda said: "both ends use the new key" in said)
    project.longhaul("up", "--yes", "--only", "infrastructure")
    assert rotation(project)["phase"] == "use"
    assert json.loads(project.longhaul(*TUNNELS).stdout)["phase"] == "steady"
    now = tunnel_keys(project)
    assert (len(now), now & former) == (3, set())
    assert project.await_healthy()["rotations"] == []
    # What was up has been asked for no key; now everything is.
    project.on(GATEWAY, "systemctl restart strongswan")
    assert project.await_healthy()["rotations"] == []
    project.longhaul("up", "--yes")
    assert tunnel_keys(project) == now
