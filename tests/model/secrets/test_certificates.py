"""Certificates and shared secrets: their holders, their names, and what they must contain."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import NamedTuple

from hypothesis import example, given

from components.model import (
    Certificate,
    Environment,
    Machine,
    Role,
    Usage,
    authorities,
    certificates,
    control_machines,
    plan,
    shared_secrets,
    vault_name,
)
from components.model.network.address_plan import FRONTEND
from components.model.secrets.certificates import ADMINISTRATORS, NODES, OPERATOR
from components.model.secrets.vault import SecretKind, etcd_state_secret
from tests.model import make
from tests.model.control_plane.test_machines import environments

SECRET_NAME = re.compile(r"[0-9a-zA-Z-]{1,127}")
"""learn.microsoft.com, "Azure Key Vault keys, secrets and certificates overview"."""

VAULT_NAME = re.compile(r"(?=.{3,24}$)[a-zA-Z]([a-zA-Z0-9]|-(?!-))*[a-zA-Z0-9]")
"""learn.microsoft.com, "Naming rules and restrictions for Azure resources": no two hyphens in a row."""


class Planned(NamedTuple):
    """An environment with its machines and certificates."""

    environment: Environment
    machines: tuple[Machine, ...]
    issued: tuple[Certificate, ...]


def planned(environment: Environment) -> Planned:
    addresses = plan(environment)
    return Planned(environment, control_machines(environment, addresses), certificates(environment, addresses))


def every_secret_has_a_name_of_its_own_that_the_vault_takes(whole: Planned) -> None:
    environment, machines, issued = whole
    names = [certificate.name for certificate in issued]
    names += [authority.secret for authority in authorities(environment)]
    names += [secret.name for secret in shared_secrets(machines)]
    # Key Vault's names are case-insensitive.
    assert len({name.lower() for name in names}) == len(names)
    assert all(SECRET_NAME.fullmatch(name) for name in names)


def the_vault_has_a_name_that_azure_takes(whole: Planned) -> None:
    environment = whole.environment
    assert VAULT_NAME.fullmatch(vault_name(environment))


def test_the_vaults_name_tells_environments_and_subscriptions_apart() -> None:
    raw = make.minimal()
    long = "a-name-of-20-letters"
    others = [{**raw, "name": name} for name in ("other", long, f"{long[:-1]}x")]
    elsewhere = make.minimal()
    elsewhere["sites"]["weu"]["subscription"] = make.UUID.replace("1", "2")
    names = {vault_name(Environment.model_validate(each)) for each in (raw, *others, elsewhere)}
    assert len(names) == 5


def only_machines_and_the_operator_hold_certificates(whole: Planned) -> None:
    _, machines, issued = whole
    holders = {machine.name for machine in machines} | {OPERATOR}
    assert {certificate.holder for certificate in issued} == holders
    for certificate in issued:
        assert certificate.name == f"{certificate.holder}-{certificate.part}"


def no_certificate_speaks_for_someone_else(whole: Planned) -> None:
    environment, machines, issued = whole
    by_name = {machine.name: machine for machine in machines}
    frontend = plan(environment).sites["weu"].subnet("api")[FRONTEND]
    shared = {frontend, plan(environment).kubernetes_service, IPv4Address("127.0.0.1")}
    for certificate in issued:
        holder = by_name.get(certificate.holder)
        others = [machine for machine in machines if machine is not holder]
        assert not {machine.address for machine in others} & set(certificate.addresses)
        assert not {name for machine in others for name in (machine.name, machine.fqdn)} & set(certificate.dns_names)
        if certificate.addresses:
            assert holder is not None
            assert set(certificate.addresses) <= {holder.address, *shared}


def a_server_is_known_by_every_name_it_is_called_by(whole: Planned) -> None:
    environment, machines, issued = whole
    addresses = plan(environment)
    for machine in machines:
        own = [c for c in issued if c.holder == machine.name and Usage.SERVER in c.usages]
        served = [c for c in own if c.part != "join"]
        assert len(served) == 1
        assert {machine.fqdn, "localhost"} <= set(served[0].dns_names)
        assert {machine.address, IPv4Address("127.0.0.1")} <= set(served[0].addresses)
        if machine.role is Role.API:
            frontend = addresses.sites["weu"].subnet("api")[FRONTEND]
            assert {frontend, addresses.kubernetes_service} <= set(served[0].addresses)
            assert {environment.api_name, "kubernetes.default.svc"} <= set(served[0].dns_names)


def the_join_service_is_not_to_be_taken_for_the_api(whole: Planned) -> None:
    environment, machines, issued = whole
    joins = [certificate for certificate in issued if certificate.part == "join"]
    assert {each.holder for each in joins} == {machine.name for machine in machines if machine.role is Role.API}
    for each in joins:
        assert (each.common_name, each.organizations, each.addresses) == ("longhaul:join", (), ())
        assert each.dns_names == (f"join.{environment.domain}",)


def stores_and_api_servers_are_under_the_right_authority(whole: Planned) -> None:
    environment, machines, issued = whole
    known = {authority.name for authority in authorities(environment)}
    # Nodes' certificates are not in the vault: the node controller signs them. Administrators' are made on demand.
    assert {certificate.authority for certificate in issued} == known - {NODES, ADMINISTRATORS}
    for machine in machines:
        parts = {c.part: c for c in issued if c.holder == machine.name}
        if machine.role.is_etcd:
            # A member of one etcd cluster is not a member of the other: peers trust the authority of their own cluster
            # alone.
            assert parts["member"].authority == machine.role
            assert set(parts["member"].usages) == {Usage.SERVER, Usage.CLIENT}
            assert set(parts) == {"member", "client"}
        else:
            assert parts["apiserver"].usages == (Usage.SERVER,)
            clients = [c for part, c in parts.items() if part not in ("apiserver", "join")]
            assert all(c.usages == (Usage.CLIENT,) and not c.dns_names and not c.addresses for c in clients)


def no_machine_is_an_administrator(whole: Planned) -> None:
    _, _, issued = whole
    masters = [certificate.holder for certificate in issued if "system:masters" in certificate.organizations]
    assert masters == [OPERATOR]


def leaves_live_shorter_than_their_authority(whole: Planned) -> None:
    environment, _, issued = whole
    days = {authority.name: authority.days for authority in authorities(environment)}
    assert all(0 < certificate.days < days[certificate.authority] for certificate in issued)


def test_the_identities_that_kubernetes_gives_rights_to() -> None:
    """kubernetes.io, "PKI certificates and requirements" and "Using RBAC Authorization" (core component roles)."""
    _, _, issued = planned(make.environment())
    names = {c.part: c.common_name for c in issued if c.holder == "test-api-0"}
    assert names["controller-manager"] == "system:kube-controller-manager"
    assert names["scheduler"] == "system:kube-scheduler"
    assert {c.authority for c in issued if c.part in ("controller-manager", "scheduler", "admin")} == {"kubernetes"}


def shared_secrets_are_held_by_those_who_use_them(whole: Planned) -> None:
    _, machines, _ = whole
    of_role = {role: {machine.name for machine in machines if machine.role is role} for role in Role}
    holders = {secret.name: set(secret.holders) for secret in shared_secrets(machines)}
    assert holders == {
        "service-account-keys": of_role[Role.API],
        "rotations": of_role[Role.API],
        "encryption-keys": of_role[Role.API],
        "quarantine": of_role[Role.API],
        "revoked": of_role[Role.API],
        etcd_state_secret(Role.ETCD): of_role[Role.ETCD],
        etcd_state_secret(Role.EVENTS): of_role[Role.EVENTS],
    }
    kinds = {secret.name: secret.kind for secret in shared_secrets(machines)}
    assert kinds["encryption-keys"] is SecretKind.ENCRYPTION_KEYS
    assert kinds["service-account-keys"] is SecretKind.SIGNING_KEYS
    assert kinds["rotations"] is SecretKind.ROTATIONS


PROMISES = (
    every_secret_has_a_name_of_its_own_that_the_vault_takes,
    the_vault_has_a_name_that_azure_takes,
    only_machines_and_the_operator_hold_certificates,
    no_certificate_speaks_for_someone_else,
    a_server_is_known_by_every_name_it_is_called_by,
    the_join_service_is_not_to_be_taken_for_the_api,
    stores_and_api_servers_are_under_the_right_authority,
    no_machine_is_an_administrator,
    leaves_live_shorter_than_their_authority,
    shared_secrets_are_held_by_those_who_use_them,
)


@given(environments())
@example(Environment.model_validate({**make.minimal(), "name": "eleven-char-more"}))
def test_any_environment_keeps_the_promises(environment: Environment) -> None:
    whole = planned(environment)
    for promise in PROMISES:
        promise(whole)
