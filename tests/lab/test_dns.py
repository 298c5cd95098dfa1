"""DNS in the hybrid cluster: pods ask the cache of their node, and a site whose links are cut loses no answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.model import load, plan
from components.model.network.cluster_dns import site_dns_addresses, site_servers, standing_nodes
from components.model.versions.section import pinned
from contract.node_dns import ADDRESS, METRICS_PORT
from tests.support.name_servers import FAILURE, NOBODY
from tests.support.project import Project, eventually
from tests.support.shared_lab import ENV, SharedLab
from tests.support.workload import Talker, talkers

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

QUESTIONS = 1000
"""Number of questions about names of which the cache knows nothing, so that each is asked of a server."""
ASK = """
import json, socket, struct, sys
address, count, word = sys.argv[1], int(sys.argv[2]), sys.argv[3]
codes = {}
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
    asking.settimeout(5)
    asking.connect((address, 53))
    for number in range(count):
        name = f"{word}-{number}.default.svc.cluster.local"
        question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + bytes([0, 0, 1, 0, 1])
        asking.send(struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + question)
        try:
            code = asking.recv(4096)[3] & 15
        except OSError as error:
            code = type(error).__name__
        codes[code] = codes.get(code, 0) + 1
print(json.dumps(codes))
"""
"""Program of a node that asks for names that do not exist, one after the other, and prints how many answers had which
code."""


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


@pytest.fixture(scope="module", name="pods")
def _pods(project: Project) -> dict[str, Talker]:
    return talkers(project, pinned("agnhost"), use1="use1", rack="rack")


def asked(project: Project, node: str, *, word: str) -> dict[str, int]:
    """Return how many answers had which code."""
    words = f"{ADDRESS} {QUESTIONS} {word}"
    return dict(json.loads(project.on(node, f"python3 - {words} <<'LONGHAUL'\n{ASK}\nLONGHAUL").stdout))


def answers_of_all_sites(project: Project, node: str) -> int:
    """Return how many answers a node's cache has had from the servers of all sites."""
    metrics = project.on(node, f"curl --silent http://127.0.0.1:{METRICS_PORT}/metrics").stdout.splitlines()
    to = f'to="{plan(load(project.stack_file)).dns_service}:53"'
    counts = [
        line for line in metrics if line.startswith("coredns_proxy_request_duration_seconds_count") and to in line
    ]
    return sum(int(float(line.rpartition(" ")[2])) for line in counts)


def gateways(project: Project, site: str) -> list[str]:
    """Return the gateways of a site."""
    listed = project.lab("tunnel", "none", "cut", check=False).stderr.partition("there are ")[2]
    of_site = {"use1": "use1", "rack": f"{ENV}-gw-"}[site]
    return [name for name in (each.strip(" .\n") for each in listed.split(",")) if of_site in name]


@pytest.fixture(name="cut", params=["use1", "rack"])
def _cut(project: Project, pods: dict[str, Talker], request: pytest.FixtureRequest) -> Iterator[str]:
    """Cut all links of a site, and return the site."""
    site: str = request.param
    (other,) = pods.keys() - {site}
    names = gateways(project, site)
    assert names
    for name in names:
        project.lab("tunnel", name, "cut")
    try:
        eventually(lambda: pods[other].dial(pods[site].address) == "")
        yield site
    finally:
        for name in names:
            project.lab("tunnel", name, "restore")
        project.await_healthy()


def server_nodes(project: Project, site: str) -> list[str]:
    """Return the node of each pod that answers for a site. A pod that ends, or has ended, is listed beside the one
    that replaces it."""
    words = ("--namespace=kube-system", f"--selector=k8s-app=kube-dns,longhaul.dev/site={site}", "--output=json")
    pods = json.loads(project.kubectl("get", "pods", *words).stdout)["items"]
    return [pod["spec"]["nodeName"] for pod in pods if not pod["metadata"].get("deletionTimestamp") and is_ready(pod)]


def is_ready(pod: dict[str, Any]) -> bool:
    """Return whether a pod is ready."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


def test_each_site_has_servers_on_different_machines(project: Project) -> None:
    environment = load(project.stack_file)
    for site, count in site_servers(environment, standing_nodes(environment)).items():
        assert count == 2

        def placed(site: str = site) -> bool:
            nodes = server_nodes(project, site)
            return len(set(nodes)) == len(nodes) == 2

        eventually(placed)
    addons = {addon["name"]: addon["verdict"] for addon in project.status()["addons"]}
    assert {addons[name] for name in ("coredns", "coredns-use1", "coredns-rack")} == {"ok"}


def test_pods_ask_the_cache_of_their_node(project: Project, pods: dict[str, Talker]) -> None:
    addresses = plan(load(project.stack_file))
    for site, pod in pods.items():
        settings = project.kubectl("exec", pod.name, "--", "cat", "/etc/resolv.conf").stdout.splitlines()
        servers = [line.split()[1] for line in settings if line.startswith("nameserver")]
        assert servers == [ADDRESS, str(site_dns_addresses(addresses)[site])]
        checks = json.loads(project.on(pod.node, "longhaul-node status").stdout)["checks"]
        assert [check["ok"] for check in checks if check["name"] == "DNS cache"] == [True]
    eventually(lambda: pods["use1"].dial("rack.default.svc.cluster.local") == "rack")


def test_a_node_without_its_cache_resolves_names(project: Project, pods: dict[str, Talker]) -> None:
    pod = pods["rack"]
    project.on(pod.node, "systemctl stop longhaul-node-dns")
    try:
        assert pod.dial("use1.default.svc.cluster.local") == "use1"
    finally:
        project.on(pod.node, "systemctl start longhaul-node-dns")


@pytest.mark.drill
def test_a_site_that_is_cut_off_loses_no_answer(project: Project, pods: dict[str, Talker], cut: str) -> None:
    """On both sides of the cut, and only the site's own servers are asked."""
    for site, pod in pods.items():
        before = answers_of_all_sites(project, pod.node)
        answers = asked(project, pod.node, word=f"cut-{cut}-{site}")
        print(f"{cut} is cut off, asked in {site}: {answers}")
        assert answers == {str(NOBODY): QUESTIONS}, f"code {FAILURE} is a failure"
        assert answers_of_all_sites(project, pod.node) == before
