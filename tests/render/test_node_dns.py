"""The configuration of a node's DNS cache: who is asked for which names."""

from __future__ import annotations

import re

import pytest
import yaml

from components.model import Environment, load, plan
from components.model.network.cluster_dns import site_dns_addresses
from components.render.node_dns import corefile, node_dns_files
from contract.node_dns import ADDRESS, KUBELET_SETTING
from tests.support.hosts import STACKS


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    return load(STACKS / "Pulumi.lab.yaml")


def upstreams(text: str) -> list[str]:
    return re.findall(r"forward \. (.+) \{", text)


def test_a_site_s_own_servers_are_asked_first_and_then_all(environment: Environment) -> None:
    addresses = plan(environment)
    of_sites = site_dns_addresses(addresses)
    for site in ("use1", "rack"):
        cluster, reverse, others = upstreams(corefile(environment, addresses, site))
        assert cluster.split() == reverse.split() == [str(of_sites[site]), str(addresses.dns_service)]
        assert others == "/run/longhaul-node-dns/resolv.conf"


def test_a_pool_s_min_makes_no_node_s_file_another(environment: Environment) -> None:
    """Otherwise all of a site's machines would be outdated once it has servers of its own."""
    pools = {name: pool.model_copy(update={"min": 0}) for name, pool in environment.pools.items()}
    fewer = environment.model_copy(update={"pools": pools})
    assert corefile(fewer, plan(fewer), "use1") == corefile(environment, plan(environment), "use1")


def test_a_site_s_files_stay_when_another_site_comes(environment: Environment) -> None:
    sites = environment.sites | {"next": environment.sites["rack"].model_copy(update={"gateways": ()})}
    larger = environment.model_copy(update={"sites": sites})
    before, after = (node_dns_files(one, plan(one), "use1") for one in (environment, larger))
    assert before == after


def test_pods_ask_the_site_s_servers_if_the_cache_does_not_answer(environment: Environment) -> None:
    """The second was of any site: it could know another answer, and musl's resolver takes the first that comes."""
    addresses = plan(environment)
    setting = yaml.safe_load(node_dns_files(environment, addresses, "use1")[KUBELET_SETTING].content)
    assert setting["clusterDNS"] == [ADDRESS, str(site_dns_addresses(addresses)["use1"])]
