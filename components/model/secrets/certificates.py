"""The list of certificates: the holder, purpose and lifetime of each.

Authorities: Kubernetes, front proxy, nodes, administrators, one for the members of each etcd cluster, and one for API
servers as clients of both etcd clusters, because kube-apiserver uses one client identity for the main etcd cluster and
its overrides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import IPv4Address

from components.model.control_plane.machines import Machine, Role, control_machines
from components.model.environment import Environment
from components.model.network.address_plan import FRONTEND, AddressPlan
from components.model.nodes.joining import join_name
from components.model.teams.queues import MANAGERS, has_queues
from contract.lifetimes import AUTHORITY_DAYS, CERTIFICATE_DAYS
from contract.object_names import CLUSTER_DOMAIN
from contract.users import ACCOUNTANT_ACCOUNT, ACCOUNTANT_USER, AUTOSCALER_ACCOUNT, JOIN_USER

OPERATOR = "operator"
"""Holder of the break-glass certificate."""

NODES = "nodes"
"""Name of the authority of kubelets' certificates. Its key is the only authority key on machines: kube-node-signer
signs with it, on API server machines (docs/certificates.md). It is separate so that it vouches for kubelets only."""

KUBERNETES = "kubernetes"
"""Name of the authority of API servers and of the programs whose certificates they accept."""

ADMINISTRATORS = "administrators"
"""Name of the authority of people's certificates, which are made on demand and kept nowhere
(longhaul/cluster/identity.py). It can be read or replaced without touching any other certificate."""

FRONT_PROXY = "front-proxy"
"""Name of the authority of API servers' identity towards extension API servers."""


VPN = str(Role.VPN)
"""Name of the authority of the VPN. It signs certificates of VPN machines, and those of laptops, which a VPN machine
makes. Its certificates give access to nothing else."""

ETCD_CLIENT = "etcd-client"
"""Name of the authority of the certificates with which API servers identify themselves to both etcd clusters. It signs
for nobody else: the certificates of one etcd cluster's members must not give access to the other."""

BREAK_GLASS = f"{OPERATOR}-admin"
"""Name of the break-glass certificate, and of its secret. The name dates from when all administrators used it."""

BREAK_GLASS_USER = "longhaul:break-glass"
"""User of the break-glass certificate, in the audit log."""

NODE_CONTROLLER = "longhaul:node-controller"
"""User of the controller that admits nodes and removes them."""

AUTOSCALER_USER = "longhaul:autoscaler"
"""User of the autoscaler on the API servers' machines."""


KUBELET_CLIENTS = "longhaul:kubelet-clients"
"""Group in the API servers' certificate for kubelets. Kubelets ask the API what this group may do."""

ADMINISTRATORS_GROUP = "longhaul:admins"
"""Group of administrators. A binding, which can be removed, gives it its rights."""

MASTERS_GROUP = "system:masters"
"""Group that no authorization rule can narrow (kubernetes.io, "Using RBAC Authorization")."""

LOOPBACK = IPv4Address("127.0.0.1")


class Usage(StrEnum):
    """Extended key usage."""

    SERVER = "server"
    CLIENT = "client"


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A certificate authority; its key is the secret ``ca-<name>``."""

    name: str
    common_name: str
    days: int = AUTHORITY_DAYS

    @property
    def secret(self) -> str:
        """Name of the vault secret that holds key and certificate."""
        return f"ca-{self.name}"

    @property
    def trust_secret(self) -> str:
        """Name of the vault secret that holds only the certificate, for machines that check others against it."""
        return f"trust-{self.name}"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate for one holder. The vault secret of the same name contains key, certificate and issuer."""

    name: str
    """Unique in the environment; ``<holder>-<part>``."""
    part: str
    """Purpose, unique for its holder; also the stem of its files' names."""
    authority: str
    """Name of the issuing :class:`Authority`."""
    holder: str
    """Name of the machine, or :data:`OPERATOR`."""
    common_name: str
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    addresses: tuple[IPv4Address, ...] = ()
    usages: tuple[Usage, ...]
    days: int = CERTIFICATE_DAYS


def authorities(environment: Environment) -> tuple[Authority, ...]:
    """Return every authority of the environment."""
    names = {
        KUBERNETES: "Kubernetes",
        FRONT_PROXY: "front proxy",
        NODES: "nodes",
        ADMINISTRATORS: "administrators",
        "etcd": "etcd",
        "events": "etcd events",
        ETCD_CLIENT: "etcd clients",
        **({VPN: "VPN"} if environment.vpn else {}),
    }
    return tuple(Authority(name=name, common_name=f"{environment.name} {title}") for name, title in names.items())


def administrators_secrets() -> tuple[str, ...]:
    """Return the names of the secrets from which an administrator's certificate and kubeconfig are made."""
    signer, servers = (Authority(name=name, common_name="") for name in (ADMINISTRATORS, KUBERNETES))
    return signer.secret, servers.trust_secret


def certificates(environment: Environment, addresses: AddressPlan) -> tuple[Certificate, ...]:
    """Return every certificate that the vault keeps: those of the control plane, and the break-glass one."""
    machines = control_machines(environment, addresses)
    members = (certificate for machine in machines for certificate in _member(machine) if machine.role.is_etcd)
    servers = (
        certificate
        for machine in machines
        if machine.role is Role.API
        for certificate in _api_server(environment, addresses, machine)
    )
    vpn = (
        certificate
        for machine in machines
        if machine.role is Role.VPN
        for certificate in _vpn_machine(environment, machine)
    )
    return (*members, *servers, *vpn, _break_glass())


def _leaf(machine: Machine, part: str, authority: str, common_name: str, *usages: Usage) -> Certificate:
    return Certificate(
        name=f"{machine.name}-{part}",
        part=part,
        authority=authority,
        holder=machine.name,
        common_name=common_name,
        usages=usages,
    )


def _member(machine: Machine) -> tuple[Certificate, ...]:
    """Return the certificates of an etcd member. With the first, the member is a server to clients, and both server and
    client to its peers. With the second, a client certificate, the member asks other members, and its watchdogs ask the
    member. The authority of the member's own etcd cluster signs both; the other etcd cluster does not trust that
    authority."""
    return (
        Certificate(
            name=f"{machine.name}-member",
            part="member",
            authority=str(machine.role),
            holder=machine.name,
            common_name=machine.fqdn,
            dns_names=(machine.fqdn, machine.name, "localhost"),
            addresses=(machine.address, LOOPBACK),
            usages=(Usage.SERVER, Usage.CLIENT),
        ),
        _leaf(machine, "client", str(machine.role), machine.name, Usage.CLIENT),
    )


def _api_server(environment: Environment, addresses: AddressPlan, machine: Machine) -> tuple[Certificate, ...]:
    frontend = addresses.sites[environment.control_plane.site].subnet("api")[FRONTEND]
    serving = Certificate(
        name=f"{machine.name}-apiserver",
        part="apiserver",
        authority=KUBERNETES,
        holder=machine.name,
        common_name="kube-apiserver",
        dns_names=(
            environment.api_name,
            machine.fqdn,
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            f"kubernetes.default.svc.{CLUSTER_DOMAIN}",
        ),
        addresses=(machine.address, frontend, addresses.kubernetes_service, LOOPBACK),
        usages=(Usage.SERVER,),
    )
    kubelet = Certificate(
        name=f"{machine.name}-kubelet-client",
        part="kubelet-client",
        authority=KUBERNETES,
        holder=machine.name,
        common_name="kube-apiserver-kubelet-client",
        organizations=(KUBELET_CLIENTS,),
        usages=(Usage.CLIENT,),
    )
    return (
        serving,
        kubelet,
        _leaf(machine, ETCD_CLIENT, ETCD_CLIENT, "kube-apiserver", Usage.CLIENT),
        _leaf(machine, "front-proxy-client", FRONT_PROXY, "front-proxy-client", Usage.CLIENT),
        _leaf(machine, "controller-manager", KUBERNETES, "system:kube-controller-manager", Usage.CLIENT),
        _leaf(machine, "scheduler", KUBERNETES, "system:kube-scheduler", Usage.CLIENT),
        _leaf(machine, "node-controller", KUBERNETES, NODE_CONTROLLER, Usage.CLIENT),
        _leaf(machine, AUTOSCALER_ACCOUNT, KUBERNETES, AUTOSCALER_USER, Usage.CLIENT),
        _join_endpoint(environment, machine),
        *(_queues(machine) if has_queues(environment) else ()),
    )


def _queues(machine: Machine) -> tuple[Certificate, ...]:
    """Return the certificates of the managers of queues and of the accountant. Each manager has one for a client of the
    API and, with another key, one for a server of webhooks, which an API server calls at its own machine's loopback
    address."""
    clients = (_leaf(machine, manager.name, KUBERNETES, manager.user, Usage.CLIENT) for manager in MANAGERS)
    servers = (
        replace(_leaf(machine, manager.serving, KUBERNETES, manager.serving, Usage.SERVER), addresses=(LOOPBACK,))
        for manager in MANAGERS
    )
    accountant = _leaf(machine, ACCOUNTANT_ACCOUNT, KUBERNETES, ACCOUNTANT_USER, Usage.CLIENT)
    return *clients, *servers, accountant


def _join_endpoint(environment: Environment, machine: Machine) -> Certificate:
    """Return the join service's certificate. With it, the service is a server for machines that have no certificate
    yet, and a client of the API on their behalf."""
    return Certificate(
        name=f"{machine.name}-join",
        part="join",
        authority=KUBERNETES,
        holder=machine.name,
        common_name=JOIN_USER,
        dns_names=(join_name(environment),),
        usages=(Usage.SERVER, Usage.CLIENT),
    )


def _vpn_machine(environment: Environment, machine: Machine) -> tuple[Certificate, ...]:
    """Return the certificates of a VPN machine. Two are for servers to laptops: one for OpenVPN, and one for the
    sign-in endpoint, to which strangers connect and whose name laptops do not accept for OpenVPN. The third is for
    kube-proxy, a client of the API (kubernetes.io, "Using RBAC Authorization", ``system:node-proxier``). None has the
    machine's public address: laptops verify the authority, which signs only for VPN machines, and the name."""
    names = {"vpn": vpn_name(environment), "vpn-door": sign_in_name(vpn_name(environment))}
    servers = (
        replace(_leaf(machine, part, VPN, name, Usage.SERVER), dns_names=(name,)) for part, name in names.items()
    )
    return *servers, _leaf(machine, "kube-proxy", KUBERNETES, "system:kube-proxy", Usage.CLIENT)


def vpn_name(environment: Environment) -> str:
    """Return the name in the certificates of VPN machines' OpenVPN."""
    return f"vpn.{environment.domain}"


def sign_in_name(name: str) -> str:
    """Return the name in the certificates of sign-in endpoints whose OpenVPN has ``name``. Laptops derive it from
    OpenVPN's name (longhaul/client/profile.py, ``Vpn.sign_in_name``)."""
    return f"sign-in.{name}"


def _break_glass() -> Certificate:
    return Certificate(
        name=BREAK_GLASS,
        part="admin",
        authority=KUBERNETES,
        holder=OPERATOR,
        common_name=BREAK_GLASS_USER,
        organizations=(MASTERS_GROUP,),
        usages=(Usage.CLIENT,),
    )
