"""The requests of each check, and the answers that it judges a failure, with an API in memory."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from components.model import Environment
from contract.certificate_requests import PATH as CERTIFICATE_REQUESTS
from contract.resources import GPU_RESOURCE
from longhaul.acceptance import cluster, gpus, joining, scaling
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.scaling import scale_out_and_back, scaled_pool
from longhaul.acceptance.target import AcceptanceTarget
from longhaul.acceptance.time_limit import LateError
from longhaul.acceptance.traffic import METADATA, Traffic, tolerations
from tests.longhaul.acceptance.conftest import Load, raw_environment
from tests.longhaul.acceptance.fake_api import NODES, UNKNOWN, FakeApi

PODS = "/api/v1/namespaces/longhaul-acceptance/pods"


class Network:
    """Pods that reach each other, except where a connection is cut."""

    def __init__(self, api: FakeApi, environment: Environment) -> None:
        from components.model import plan

        self.cut: set[tuple[str, str]] = set()
        self.metadata = self.any_name = False
        self.masked = ""
        self._plan = plan(environment).sites
        self._addresses: dict[str, str] = {}
        api.on_post, api.dials = self.place, self.dial

    def place(self, path: str, item: dict[str, Any]) -> None:
        if path == PODS:
            name, site = item["metadata"]["name"], item["spec"]["nodeSelector"]["longhaul.dev/site"]
            self._addresses[name] = str(self._plan[site].pods[5])
            item["spec"]["nodeName"] = f"of-{site}"
            item["status"] = {"podIP": self._addresses[name], "conditions": [{"type": "Ready", "status": "True"}]}

    def dial(self, pod: str, host: str, request: str) -> str:
        if host == METADATA:
            return "token" if self.metadata else ""
        found = host if host in self._addresses else ""
        found = found or next((name for name, address in self._addresses.items() if address == host), "")
        found = found or next((name for name in self._addresses if host.startswith(f"{name}.")), "")
        found = found or ("made up" if self.any_name else "")
        if not found:
            return UNKNOWN
        if (pod, found) in self.cut:
            return ""
        return f"{self.masked or self._addresses[pod]}:40000" if request == "clientip" else found


@pytest.fixture(name="network")
def _network(api: FakeApi, environment: Environment) -> Network:
    return Network(api, environment)


def test_pods_talk_both_ways_and_go(target: AcceptanceTarget, api: FakeApi, network: Network) -> None:
    assert network.cut == set()
    traffic = Traffic(target)
    assert traffic.addresses() == "by address: rack to use1, use1 to rack; each seen by its own address"
    assert "use1 to rack" in traffic.names()
    assert "rack, use1" in traffic.dns()
    assert "use1" in traffic.metadata()
    assert len(api.lists[PODS]) == 2
    traffic.removed()
    assert api.lists["/api/v1/namespaces"] == []


def test_one_way_that_is_cut_is_found(target: AcceptanceTarget, network: Network) -> None:
    network.cut = {("on-rack", "on-use1")}
    traffic = Traffic(target)
    with pytest.raises(LateError, match="rack reaches use1 by address: not in time"):
        traffic.addresses()
    with pytest.raises(LateError, match="rack reaches use1 by name"):
        traffic.names()


def test_masquerade_metadata_and_made_up_names_are_found(target: AcceptanceTarget, network: Network) -> None:
    traffic = Traffic(target)
    network.masked = "198.51.100.7"
    with pytest.raises(NotSoError, match="not as 10"):
        traffic.addresses()
    network.metadata = network.any_name = True
    with pytest.raises(NotSoError, match="is answered by 169"):
        traffic.metadata()
    with pytest.raises(NotSoError, match="which does not exist"):
        traffic.dns()


def test_what_a_killed_run_left_goes_first(target: AcceptanceTarget, api: FakeApi, network: Network) -> None:
    assert network.cut == set()
    api.post("/api/v1/namespaces", {"metadata": {"name": "longhaul-acceptance"}})
    Traffic(target).addresses()
    assert [item["metadata"]["uid"] for item in api.lists["/api/v1/namespaces"]] != ["uid-1"]


def test_without_nodes_or_with_one_site_there_is_no_pair(
    target: AcceptanceTarget, api: FakeApi, network: Network
) -> None:
    assert network.cut == set()
    del api.lists[NODES][1]
    with pytest.raises(NotApplicableError, match="only use1"):
        Traffic(target).addresses()
    api.lists[NODES].clear()
    with pytest.raises(NotApplicableError, match="no nodes"):
        Traffic(target).addresses()


def test_pods_may_go_where_a_pools_taint_keeps_others_away(load_raw: Load) -> None:
    raw = raw_environment()
    raw["pools"]["cpu"]["taints"] = [{"key": "team", "value": "one", "effect": "NoSchedule"}]
    found = tolerations(load_raw(raw))
    assert found == {"use1": [{"key": "team", "operator": "Exists", "effect": "NoSchedule"}]}


def test_nodes_are_counted_awaited_and_compared_with_the_file(target: AcceptanceTarget, api: FakeApi) -> None:
    assert cluster.nodes(target) == "2 nodes ready on rack, use1, API servers and kubelets v1.2.3"
    late = api.node("i-2", site="use1", pool="cpu", ready=False)
    api.changed = lambda: late["status"]["conditions"][0].update(status="True")
    assert cluster.nodes(target).startswith("3 nodes")
    api.node("i-3", site="use1", pool="cpu", version="v1.2.2")
    with pytest.raises(LateError, match=r"i-3 is v1\.2\.2, not v1\.2\.3"):
        cluster.nodes(target)


def test_a_node_that_is_missing_or_of_another_version_than_the_api(target: AcceptanceTarget, api: FakeApi) -> None:
    del api.lists[NODES][0]
    with pytest.raises(LateError, match="1 nodes of 2"):
        cluster.nodes(target)
    other = target.environment.model_copy(
        update={"versions": target.environment.versions.model_copy(update={"kubernetes": "9.9.9"})}
    )
    with pytest.raises(NotSoError, match=r"the API servers are v1\.2\.3, the file says v9\.9\.9"):
        cluster.nodes(replace(target, environment=other))


def _judges(api: FakeApi, status: dict[str, Any]) -> None:
    def changed() -> None:
        for item in api.lists.get(CERTIFICATE_REQUESTS, []):
            item["status"] = status

    api.changed = changed


def test_a_request_that_is_refused_is_well_and_goes(target: AcceptanceTarget, api: FakeApi) -> None:
    _judges(api, {"conditions": [{"type": "Denied", "message": "there is no machine"}]})
    assert joining.unknown_machine(target) == "refused: there is no machine"
    assert joining.live_node(target) == "refused: there is no machine"
    assert api.lists[CERTIFICATE_REQUESTS] == []
    asked = [item["metadata"]["annotations"]["longhaul.dev/machine"] for _, item in api.posted]
    assert asked == ["i-00000000000000000", "i-1"]


def test_one_that_is_signed_or_left_lying_is_not(target: AcceptanceTarget, api: FakeApi) -> None:
    _judges(api, {"conditions": [{"type": "Approved", "message": ""}], "certificate": "abc"})
    with pytest.raises(NotSoError, match="was given a certificate"):
        joining.unknown_machine(target)
    _judges(api, {})
    with pytest.raises(LateError, match="nobody has decided"):
        joining.unknown_machine(target)
    assert api.lists[CERTIFICATE_REQUESTS] == []


class Group:
    """A pool's group whose machines become nodes at the next look."""

    def __init__(self, api: FakeApi, *, follows: bool = True) -> None:
        self.wanted, self.asked = 1, list[int]()
        self._api, self._follows = api, follows
        api.changed = self._follow

    def size(self) -> int:
        return self.wanted

    def resize(self, count: int) -> None:
        self.wanted = count
        self.asked.append(count)

    def _follow(self) -> None:
        mine = [item for item in self._api.lists[NODES] if item["metadata"]["labels"]["longhaul.dev/pool"] == "cpu"]
        if not self._follows or len(mine) == self.wanted:
            return
        if len(mine) < self.wanted:
            self._api.node(f"i-{len(mine) + 1}", site="use1", pool="cpu")
        else:
            self._api.lists[NODES].remove(mine[0])


def test_a_pool_grows_by_one_and_shrinks_back(target: AcceptanceTarget, api: FakeApi) -> None:
    group = Group(api)
    said = scale_out_and_back(target, lambda environment, pool: group)
    assert said.startswith("pool cpu from 1 to 2: ready after")
    assert group.asked == [2, 1]


def test_one_that_does_not_is_given_its_size_back(target: AcceptanceTarget, api: FakeApi) -> None:
    group = Group(api, follows=False)
    with pytest.raises(LateError, match="pool cpu has 2 nodes"):
        scale_out_and_back(target, lambda environment, pool: group)
    assert group.asked == [2, 1]


def test_the_pool_that_is_scaled_has_no_gpus_if_any_may_grow(load_raw: Load) -> None:
    raw = raw_environment()
    raw["pools"]["a-gpu"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": 4}
    assert scaled_pool(load_raw(raw)) == "cpu"
    raw["pools"]["cpu"]["max"] = 1
    assert scaled_pool(load_raw(raw)) == "a-gpu"
    raw["pools"]["a-gpu"]["max"] = 1
    raw["pools"]["a-gpu"]["min"] = 1
    assert scaled_pool(load_raw(raw)) is None


def test_a_full_pool_is_not_scaled(target: AcceptanceTarget, api: FakeApi) -> None:
    group = Group(api)
    group.wanted = target.environment.pools["cpu"].max
    with pytest.raises(NotApplicableError, match="as many as it may have"):
        scaling.scale_out_and_back(target, lambda environment, pool: group)
    assert group.asked == []


def test_gpus_are_those_of_the_file(load_raw: Load, target: AcceptanceTarget, api: FakeApi) -> None:
    with pytest.raises(NotApplicableError, match="no node has GPUs"):
        gpus.gpu_pods(target)
    raw = raw_environment()
    raw["pools"]["gpu"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": 4}
    target = replace(target, environment=load_raw(raw))
    node = api.node("i-9", site="use1", pool="gpu")
    with pytest.raises(NotSoError, match="i-9 offers 0 GPUs, the file says 8"):
        gpus.gpu_pods(target)
    node["status"]["allocatable"][GPU_RESOURCE] = "8"
    api.on_post = lambda path, item: item["status"].update(conditions=[{"type": "Ready", "status": "True"}])
    assert gpus.gpu_pods(target) == "nodes offer their GPUs (1 with 8); a pod on each was given one"
    assert api.lists["/api/v1/namespaces"] == []


def test_a_private_key_in_the_state_is_found(target: AcceptanceTarget) -> None:
    clean = json.dumps({"deployment": {"resources": [{}, {}]}})
    said = cluster.no_keys(replace(target, exported=lambda: {"dev": clean, "dev-objects": clean}))
    assert said == "2 resources of dev, 2 resources of dev-objects, decrypted: no private key"
    leaked = json.dumps({"deployment": {"resources": [{"pem": "-----BEGIN EC PRIVATE KEY-----"}]}})
    with pytest.raises(NotSoError, match="in the state of dev-objects"):
        cluster.no_keys(replace(target, exported=lambda: {"dev": clean, "dev-objects": leaked}))
    with pytest.raises(NotSoError, match="is empty"):
        cluster.no_keys(replace(target, exported=lambda: {"dev": json.dumps({"deployment": {}})}))
    with pytest.raises(NotApplicableError):
        cluster.no_keys(replace(target, exported=dict))
