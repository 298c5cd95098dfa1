"""Certificates and shared secrets: their holders, their names, and what they must contain."""

from __future__ import annotations

import re
from ipaddress import IPv4Address

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


def planned(environment: Environment) -> tuple[tuple[Machine, ...], tuple[Certificate, ...]]:
    addresses = plan(environment)
    return control_machines(environment, addresses), certificates(environment, addresses)


@given(environments())
def test_every_secret_has_a_name_of_its_own_that_the_vault_takes(environment: Environment) -> None:
    machines, issued = planned(environment)
    names = [certificate.name for certificate in issued]
    names += [authority.secret for authority in authorities(environment)]
    names += [secret.name for secret in shared_secrets(machines)]
    # Key Vault's names are case-insensitive.
    assert len({name.lower() for name in names}) == len(names)
    assert all(SECRET_NAME.fullmatch(name) for name in names)


@given(environments())
@example(Environment.model_validate({**make.minimal(), "name": "eleven-char-more"}))
def test_the_vault_has_a_name_that_azure_takes(environment: Environment) -> None:
    assert VAULT_NAME.fullmatch(vault_name(environment))


def test_the_vaults_name_tells_environments_and_subscriptions_apart() -> None:
    raw = make.minimal()
    long = "a-name-of-20-letters"
    others = [{**raw, "name": name} for name in ("other", long, f"{long[:-1]}x")]
    elsewhere = make.minimal()
    elsewhere["sites"]["weu"]["subscription"] = make.UUID.replace("1", "2")
    names = {vault_name(Environment.model_validate(each)) for each in (raw, *others, elsewhere)}
    assert len(names) == 5


@given(environments())
def test_only_machines_and_the_operator_hold_certificates(environment: Environment) -> None:
    machines, issued = planned(environment)
    holders = {machine.name for machine in machines} | {OPERATOR}
    assert {certificate.holder for certificate in issued} == holders
    for certificate in issued:
        assert certificate.name == f"{certificate.holder}-{certificate.part}"


@given(environments())
def test_no_certificate_speaks_for_someone_else(environment: Environment) -> None:
    machines, issued = planned(environment)
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


@given(environments())
def test_a_server_is_known_by_every_name_it_is_called_by(environment: Environment) -> None:
    machines, issued = planned(environment)
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


@given(environments())
def test_the_join_service_is_not_to_be_taken_for_the_api(environment: Environment) -> None:
    machines, issued = planned(environment)
    joins = [certificate for certificate in issued if certificate.part == "join"]
    assert {each.holder for each in joins} == {machine.name for machine in machines if machine.role is Role.API}
    for each in joins:
        assert (each.common_name, each.organizations, each.addresses) == ("longhaul:join", (), ())
        assert each.dns_names == (f"join.{environment.domain}",)


@given(environments())
def test_stores_and_api_servers_are_under_the_right_authority(environment: Environment) -> None:
    machines, issued = planned(environment)
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


@given(environments())
def test_no_machine_is_an_administrator(environment: Environment) -> None:
    _, issued = planned(environment)
    masters = [certificate.holder for certificate in issued if "system:masters" in certificate.organizations]
    assert masters == [OPERATOR]


@given(environments())
def test_leaves_live_shorter_than_their_authority(environment: Environment) -> None:
    _, issued = planned(environment)
    days = {authority.name: authority.days for authority in authorities(environment)}
    assert all(0 < certificate.days < days[certificate.authority] for certificate in issued)


def test_the_identities_that_kubernetes_gives_rights_to() -> None:
    """kubernetes.io, "PKI certificates and requirements" and "Using RBAC Authorization" (core component roles)."""
    _, issued = planned(make.environment())
    names = {c.part: c.common_name for c in issued if c.holder == "test-api-0"}
    assert names["controller-manager"] == "system:kube-controller-manager"
    assert names["scheduler"] == "system:kube-scheduler"
    assert {c.authority for c in issued if c.part in ("controller-manager", "scheduler", "admin")} == {"kubernetes"}


@given(environments())
def test_shared_secrets_are_held_by_those_who_use_them(environment: Environment) -> None:
    machines, _ = planned(environment)
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
