"""The table of allowed traffic, as each cloud and the racks' gateways declare it."""

from __future__ import annotations

import re

import jinja2
import pytest

from components.azure.rules import part_rules
from components.model import Environment, plan
from components.model.access.source_ranges import operators_inside
from components.model.network.allowed_traffic import FLOWS, Direction, Peer, flows
from tests.support import production
from tests.support.declared import Declared, Program
from tests.support.project import REPOSITORY

FILTER = REPOSITORY / "playbooks" / "roles" / "gateway" / "templates" / "firewall.nft.j2"


@pytest.fixture(name="environment")
def _environment() -> Environment:
    return production.production()


@pytest.mark.parametrize("part", ["etcd", "events"])
def test_a_store_is_for_its_members_and_the_api_servers(environment: Environment, part: str) -> None:
    addresses = plan(environment)
    ranges = addresses.sites["weu"]
    own, servers = str(ranges.subnet(part)), str(ranges.subnet("api"))
    found = [
        (rule.priority, rule.name, rule.access, rule.source_address_prefix, rule.destination_address_prefix)
        for rule in part_rules(environment, addresses, "weu", part)
    ]
    assert found == [
        (100, "peers", "Allow", own, "*"),
        (110, "api-servers", "Allow", servers, "*"),
        (4096, "deny-rest", "Deny", "*", "*"),
        (100, "peers-out", "Allow", "*", own),
        (110, "vault", "Allow", "*", "AzureKeyVault"),
        (120, "agent", "Allow", "*", "AzureCloud.westeurope"),
        (4096, "deny-rest-out", "Deny", "*", "*"),
    ]


@pytest.mark.parametrize(
    ("region", "word"), [("norwayeast", "norwaye"), ("francecentral", "centralfrance"), ("uaenorth", "uaenorth")]
)
def test_a_region_is_named_as_azure_publishes_it(environment: Environment, region: str, word: str) -> None:
    sites = {**environment.sites, "weu": environment.sites["weu"].model_copy(update={"region": region})}
    moved = environment.model_copy(update={"sites": sites})
    tags = {rule.destination_address_prefix for rule in part_rules(moved, plan(moved), "weu", "etcd")}
    assert f"AzureCloud.{word}" in tags


def test_nodes_are_one_flat_network_in_every_cloud(environment: Environment) -> None:
    supernet = str(environment.supernet)
    inside, denied = part_rules(environment, plan(environment), "weu", "nodes")
    assert (inside.source_address_prefix, inside.protocol) == (supernet, "*")
    assert inside.destination_port_ranges == ["0-65535"]
    assert (denied.direction, denied.access) == ("Inbound", "Deny")
    program = production.production_program()
    groups, admitted, let_out = aws_rules(program, "nodes")
    assert len(groups) == len(admitted) == len(let_out) == 3
    for rules, range_ in ((admitted, supernet), (let_out, "0.0.0.0/0")):
        assert {(rule.inputs["cidrIpv4"], rule.inputs["ipProtocol"]) for rule in rules} == {(range_, "-1")}


def test_a_machine_in_quarantine_is_reached_by_operators_alone(environment: Environment) -> None:
    operators = {str(range_) for range_ in operators_inside(environment, plan(environment))}
    groups, admitted, let_out = aws_rules(production.production_program(), "quarantine")
    assert (len(groups), len(let_out)) == (3, 0)
    assert {rule.inputs["cidrIpv4"] for rule in admitted} == operators
    ports = {(rule.inputs["ipProtocol"], rule.inputs["fromPort"], rule.inputs["toPort"]) for rule in admitted}
    assert ports == {("tcp", 22, 22)}


def aws_rules(program: Program, part: str) -> tuple[list[Declared], list[Declared], list[Declared]]:
    """Return the security groups of a part of every AWS site, and their rules in and out."""
    kinds = ("ec2/securityGroup:SecurityGroup", "vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    types = (*kinds, "vpc/securityGroupEgressRule:SecurityGroupEgressRule")
    groups, admitted, let_out = ([one for one in program.of(f"aws:{kind}") if f"-{part}" in one.name] for kind in types)
    return groups, admitted, let_out


def test_a_gateway_of_the_racks_admits_what_the_table_says(environment: Environment) -> None:
    inside, outside = ["10.9.0.0/16"], ["192.0.2.0/24", "198.51.100.7/32"]
    ranges = {Peer.OPERATORS_INSIDE: inside, Peer.OPERATORS: outside, Peer.ANYWHERE: [""]}
    told = {
        (str(flow.protocol), port, range_)
        for flow in flows(environment, "gateway")
        for port in flow.ports
        for range_ in ranges[flow.peer]
    }
    template = jinja2.Template(FILTER.read_text(encoding="utf-8"))
    written = template.render(gateway_supernet="10.0.0.0/8", gateway_operators=inside + outside, gateway_mss=1)
    rule = re.compile(r"^ +(tcp|udp) dport (?:{ ([\d, ]+) }|(\d+))(?: ip saddr (\S+))? accept$", re.MULTILINE)
    accepted = rule.findall(written)
    assert written.count(" dport ") == len(accepted)
    assert told == {
        (protocol, port, range_) for protocol, many, one, range_ in accepted for port in (many or one).split(", ")
    }


def test_rules_of_a_part_have_names_and_places_of_their_own() -> None:
    for part in {part for flow in FLOWS for part in flow.parts}:
        own = [flow for flow in FLOWS if part in flow.parts]
        assert len({flow.name for flow in own}) == len(own)
        for direction in Direction:
            ranks = [flow.rank for flow in own if flow.direction is direction]
            assert ranks == sorted(set(ranks))
