"""The environment file's shape. Field descriptions are the reference documentation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clouds.base import machine_type
from clouds.base.pool import Pool
from clouds.base.section import Name, Principal, Range, Section
from components.model.hosts import BareMetalHost
from components.model.machine_types import MachineType, known_machine_types
from components.model.sites import Site
from components.model.versions import Versions
from components.model.waivers import Waiver

FORMAT = 1
"""Version of the environment's format that this code reads without migration."""


class EtcdStore(Section):
    """One etcd cluster: dedicated machines with local SSD."""

    members: Literal[1, 3, 5, 7]
    """Members, an odd number: five survive the loss of two, one survives nothing."""
    machine_type: str = Field(examples=["Standard_L8s_v3"])
    """A type with local SSD."""
    quota_gib: int = Field(default=8, ge=2, le=8)
    """Size at which the store stops taking writes, GiB. etcd's own default of 2 stopped clusters of 1,000 nodes; etcd
    advises at most 8."""


class ApiServers(Section):
    """Machines that run kube-apiserver, controller-manager and scheduler."""

    servers: int = Field(ge=1, le=15)
    """Machines; about one for each 1,500 nodes."""
    machine_type: str = Field(examples=["Standard_D8s_v5"])
    """Their type."""
    port: int = Field(default=6443, ge=1, le=65535)
    """The port of the API, on the load balancer and on the machines."""


class ControlPlane(Section):
    """Where and how large the control plane is."""

    site: Name = Field(examples=["weu"])
    """The site that hosts it. Azure; AWS is not there yet."""
    etcd: EtcdStore
    """The main store."""
    events: EtcdStore
    """The store for events alone, so that an event storm cannot stall the main one."""
    api: ApiServers
    """The API servers."""


class Link(Section):
    """A connection between two sites that differs from what Longhaul would make."""

    between: tuple[Name, Name] = Field(examples=[["weu", "colo"]])
    """The two sites."""
    kind: Literal["existing"]
    """`existing`: a circuit that is already there (ExpressRoute, Direct Connect); nothing is made."""


class Access(Section):
    """Who reaches the private parts from outside."""

    administrator_key: str = Field(
        pattern=r"^(ssh-ed25519|ecdsa-sha2-nistp256|ssh-rsa) [A-Za-z0-9+/]+=*( \S+)?$",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8VQtMAAl2UUtHkVsmz0sSN0oGVSwoL2Ktm4xLZLyXS admin"],
        json_schema_extra={"patternErrorMessage": "an SSH public key, as in `~/.ssh/id_ed25519.pub`"},
    )
    """SSH public key that cloud machines are made with: the way in through the cloud's bastion when all else fails."""
    vault_officers: dict[Principal, Literal["user", "service"]] = Field(
        min_length=1, examples=[{"00000000-0000-4000-8000-000000000003": "service"}]
    )
    """Object ids of the people and CI identities that run `up`, with what each is: they may write to the vault."""
    operators: tuple[Range, ...] = ()
    """Public ranges that operators and CI runners come from: admitted to the vault's network rules, nothing else."""
    aws_identity_provider: str | None = Field(
        default=None,
        pattern=r"^arn:aws:iam::\d{12}:oidc-provider/sts\.windows\.net/[0-9a-f-]{36}/$",
        examples=["arn:aws:iam::123456789012:oidc-provider/sts.windows.net/00000000-0000-4000-8000-000000000002/"],
        json_schema_extra={
            "patternErrorMessage": "the ARN of the account's OpenID Connect provider for the control plane's tenant"
        },
    )
    """The AWS account's identity provider for the control plane's Entra tenant, where another environment has made it:
    an account has one for a tenant. It is used and never changed. Left out, this environment makes it."""


class Naming(Section):
    """How the clouds' resources are called."""

    prefix: str = Field(
        default="",
        pattern=r"^([a-z][a-z0-9]*(-[a-z0-9]+)*)?$",
        max_length=10,
        examples=["corp"],
        json_schema_extra={"patternErrorMessage": "lower-case letters, digits, single hyphens, a letter first"},
    )
    """Put, with a hyphen, before the name of everything that clouds know by a name, at most 10 characters. To be chosen
    before anything is made: names cannot be changed, so whatever has one would be made anew."""


class Environment(Section):
    """One cluster: everything below `longhaul:environment` in its stack file."""

    format: Literal[1]
    """Version of this format; older files are migrated when read."""
    name: Name = Field(examples=["lab"])
    """The environment's name, which is also the stack's."""
    supernet: Range = Field(examples=["10.64.0.0/12"])
    """One private range of /16 or larger that holds every address of the environment, disjoint from every other
    environment's."""
    domain: str = Field(
        pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$",
        examples=["lab.longhaul.internal"],
        json_schema_extra={"patternErrorMessage": "a DNS name of two labels or more, in lower case"},
    )
    """Private DNS zone of the environment; the API server is `api.<domain>`."""
    destroyable: bool = False
    """Whether `longhaul destroy` may destroy the whole environment."""
    versions: Versions = Field(default_factory=Versions)
    """Versions of what runs on the machines."""
    sites: dict[Name, Site] = Field(min_length=1)
    """Sites by name."""
    control_plane: ControlPlane
    """The control plane."""
    pools: dict[Name, Pool] = Field(default_factory=dict)
    """Node pools in clouds by name."""
    bare_metal: str | None = Field(default=None, examples=["hosts.prod.yaml"])
    """File that lists the bare-metal hosts, relative to the stack file."""
    links: tuple[Link, ...] = ()
    """Connections that differ from the default, which is: every pair of sites, by the cloud's backbone inside one cloud
    and by IPsec between clouds and racks."""
    machine_types: dict[str, MachineType] = Field(default_factory=dict)
    """Machine types beyond the built-in ones."""
    access: Access
    """Who reaches the private parts from outside."""
    tags: dict[str, str] = Field(default_factory=dict)
    """Tags on every cloud resource, besides Longhaul's own (`longhaul-…` and `Name`): names and values that each of the
    environment's clouds takes, at most 46; 13 where Longhaul makes the DNS zone, for Azure's zones have 15 in all."""
    naming: Naming = Field(default_factory=Naming)
    """How the clouds' resources are called."""
    waivers: tuple[Waiver, ...] = ()
    """Exceptions to the rules of docs/policy.md."""
    hosts: tuple[BareMetalHost, ...] = Field(default=(), exclude=True, json_schema_extra={"internal": True})
    """Read from the `bare_metal` file; not written in the stack file."""

    def machine_type(self, name: str) -> machine_type.MachineType:
        """The type called ``name``; ``KeyError`` when neither the environment nor Longhaul knows it."""
        return {**known_machine_types(), **self.machine_types}[name]

    @property
    def api_name(self) -> str:
        """Fully qualified name of the API servers' load balancer."""
        return f"api.{self.domain}"
