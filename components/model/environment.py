"""Structure of the environment file. The docstrings of fields are the reference documentation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clouds.base.machine_types import MachineProperties
from clouds.base.pool_section import Pool
from clouds.base.replaces import Replaces
from clouds.base.section import ExtendedResource, FileName, LeftOut, Name, Principal, Range, Section
from clouds.base.throughput import Throughput
from components.model.autoscaler.section import Autoscaler
from components.model.backups.section import Backups
from components.model.control_plane.section import ControlPlane
from components.model.depots.section import Depots
from components.model.hosts.section import Host
from components.model.identity.namespaces import Namespace
from components.model.identity.section import Identity
from components.model.policy.waivers import Waiver
from components.model.pools.machine_types import MachineType, known_machine_types
from components.model.sites.section import Site
from components.model.teams.section import MOST_TEAMS, Team
from components.model.versions.section import Versions
from components.model.vpn.section import Vpn

FORMAT = 1
"""Version of the environment's format."""


class Link(Section):
    """A connection between two sites that differs from the default."""

    between: tuple[Name, Name] = Field(examples=[["weu", "colo"]])
    """Names of the two sites."""
    kind: Literal["existing"] | None = None
    """Kind of the connection. With `existing`, the sites already have a circuit (ExpressRoute, Direct Connect), and
    Longhaul makes nothing. If left out, the link is the default of its two sites."""
    bandwidth: Annotated[Throughput | None, Replaces.NOTHING] = None
    """Throughput that the work on the two sites needs between them, in each direction. It sets nothing: a link that
    cannot carry it, by what the clouds publish and the file declares, is refused (docs/network.md)."""
    capacity: Annotated[Throughput | None, Replaces.NOTHING] = None
    """Throughput of an existing circuit in each direction, as you bought it. If left out, it is unknown."""


class Access(Section):
    """Access from outside to the private parts of the environment."""

    administrator_key: Annotated[str, Replaces.STATE] = Field(
        pattern=r"^(ssh-ed25519|ecdsa-sha2-nistp256|ssh-rsa) [A-Za-z0-9+/]+=*( \S+)?$",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8VQtMAAl2UUtHkVsmz0sSN0oGVSwoL2Ktm4xLZLyXS admin"],
        json_schema_extra={
            "patternErrorMessage": "an SSH public key, as in `~/.ssh/id_ed25519.pub`",
            "placeholder": "<your SSH public key>",
        },
    )
    """SSH public key of the administrator account on Azure machines: the last resort, through the cloud's bastion, when
    all else fails. Azure accepts Ed25519, and RSA of 2,048 bits or more. Machines on AWS are made without it."""
    vault_officers: Annotated[dict[Principal, Literal["user", "service"]], Replaces.STATE] = Field(
        min_length=1,
        examples=[{"00000000-0000-4000-8000-000000000003": "service"}],
        json_schema_extra={"placeholder": {"<object id of who runs up>": "service"}},
    )
    """Object ids of the people and CI identities that run `up`, each with its type, `user` or `service`. They may write
    to the vault."""
    administrators: Annotated[dict[Principal, Literal["user", "service"]], Replaces.STATE] = Field(
        default_factory=dict, examples=[{"00000000-0000-4000-8000-000000000004": "user"}]
    )
    """Object ids of those who administer the cluster by `longhaul kubeconfig` and do not run `up`, each with its type.
    They may read only those secrets of the vault from which an administrator's certificate is made. Officers need no
    entry."""
    operators: Annotated[tuple[Range, ...], Replaces.REACH] = ()
    """Public ranges of operators and CI runners; a private one, or 0.0.0.0/0, is refused. From these ranges, only the
    vault, SSH on on-premises gateways, and machines that bake images can be reached."""
    operators_inside: Annotated[tuple[Range, ...], Replaces.STATE] = Field(default=(), examples=[["10.66.0.200/32"]])
    """Private ranges of operators' machines, jump hosts and bastions outside the address plan's own range of operators.
    Gateways, hosts and pools' machines accept SSH from both kinds of ranges; a host also accepts it from its site's
    gateways. A range of several addresses is refused when pods have addresses in it; a single address is assumed to be
    in use by one machine."""
    aws_identity_provider: Annotated[str | None, Replaces.STATE] = Field(
        default=None,
        pattern=r"^arn:aws:iam::\d{12}:oidc-provider/sts\.windows\.net/[0-9a-f-]{36}/$",
        examples=["arn:aws:iam::123456789012:oidc-provider/sts.windows.net/00000000-0000-4000-8000-000000000002/"],
        json_schema_extra={
            "patternErrorMessage": "the ARN of the account's OpenID Connect provider for the control plane's tenant"
        },
    )
    """ARN of the AWS account's identity provider for the control plane's Entra tenant, if another environment made it:
    an account can have only one for each tenant. Longhaul uses it and never changes it. If left out, this environment
    makes it."""
    aws_permissions_boundary: Annotated[str | None, Replaces.STATE] = Field(
        default=None,
        pattern=r"^arn:aws:iam::\d{12}:policy/([\w+=,.@-]+/)*[\w+=,.@-]+$",
        examples=["arn:aws:iam::123456789012:policy/prod-boundary"],
        json_schema_extra={"patternErrorMessage": "the ARN of a policy of the AWS account"},
    )
    """ARN of the policy that bounds the roles which Longhaul makes in the AWS account. The operator's policy allows no
    role without it (`clouds/aws/boundary-policy.json`)."""


class Naming(Section):
    """Names of the resources in the clouds."""

    prefix: str = Field(
        default="",
        pattern=r"^([a-z][a-z0-9]*(-[a-z0-9]+)*)?$",
        max_length=10,
        examples=["corp"],
        json_schema_extra={"patternErrorMessage": "lower-case letters, digits, single hyphens, a letter first"},
    )
    """Prefix, followed by a hyphen, of the name of every cloud resource; at most 10 characters. Choose it before
    anything is made: names cannot be changed, so another prefix would replace every resource that has a name."""


class Images(Section):
    """Container images that Longhaul runs but can neither pin nor make itself."""

    efa_device_plugin: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)+:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}@sha256:[0-9a-f]{64}$",
        examples=[f"registry.example.com/eks/aws-efa-k8s-device-plugin:v0.5.8@sha256:{'0' * 64}"],
        json_schema_extra={"patternErrorMessage": "REGISTRY/PATH:TAG@sha256: and 64 hexadecimal digits"},
    )
    """Image of AWS's device plugin for Elastic Fabric Adapters, by its digest, where nodes can pull it without
    credentials. If left out, pods get no adapters in pools with `efa`."""


class PodSecurity(Section):
    """Namespaces for pods that need access to their nodes, such as exporters and storage drivers."""

    exempt_namespaces: tuple[Namespace, ...] = Field(default=(), examples=[["monitoring"]])
    """Namespaces in which pods may be privileged, share their node's network and use its files, in addition to
    `kube-system`. Whoever may make pods there is root on every node. A change replaces the API servers, one at a time.
    The label `pod-security.kubernetes.io/enforce: privileged` on a namespace does the same for that namespace, and
    replaces no machine."""


class Environment(Section):
    """One cluster: everything below `longhaul:environment` in its stack file."""

    format: Annotated[Literal[1], Replaces.STATE]
    """Version of the file's format."""
    name: Annotated[Name, Replaces.STATE] = Field(examples=["lab"])
    """Name of the environment, which is also the name of its stack."""
    supernet: Annotated[Range, Replaces.STATE] = Field(examples=["10.64.0.0/12"])
    """Private range of /16 or larger that contains every address of the environment. It must not overlap the supernet
    of any other environment."""
    used: Annotated[tuple[Range, ...], Replaces.NOTHING] = Field(default=(), examples=[["10.0.0.0/16"]])
    """Private ranges that something else of yours uses, such as a company's network, and that machines, pods or
    laptops of the environment may have to reach. The supernet must not overlap them."""
    domain: Annotated[str, Replaces.STATE] = Field(
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$",
        examples=["lab.longhaul.internal"],
        json_schema_extra={
            "patternErrorMessage": "a DNS name of two labels or more of at most 63 characters each, in lower case"
        },
    )
    """Private DNS zone of the environment; the API server is `api.<domain>`."""
    destroyable: Annotated[bool, Replaces.STATE] = False
    """True when `longhaul destroy` may destroy the whole environment."""
    versions: Versions = Field(default_factory=Versions)
    """Versions of the software on the machines."""
    sites: dict[Name, Site] = Field(min_length=1)
    """Sites by name."""
    control_plane: ControlPlane
    """The control plane."""
    backups: Annotated[LeftOut[Backups], Replaces.STATE] = None
    """Backups of the etcd clusters. If left out, none are made, and an etcd cluster that loses its quorum for good is
    lost."""
    pools: dict[Name, Pool] = Field(default_factory=dict)
    """Node pools in clouds by name."""
    autoscaler: Annotated[LeftOut[Autoscaler], Replaces.STATE] = None
    """The autoscaler, which sizes the pools. If left out, pools keep the size that somebody gives them; `{}` turns it
    on with its defaults."""
    max_nodes: Annotated[int | None, Replaces.SIZE] = Field(default=None, ge=1, examples=[5000])
    """Largest number of nodes of the environment. An autoscaler keeps to it, whatever the sum of the pools' maxima.
    With an autoscaler, the hosts and the pools' `min` together must not exceed this number; without an autoscaler, the
    hosts and the pools' `max` together must not. If left out, only the sites' addresses limit the number."""
    depots: Annotated[Depots, Replaces.STATE] = Field(default_factory=Depots)
    """Settings of all sites' depots."""
    bare_metal: Annotated[FileName | None, Replaces.STATE] = Field(default=None, examples=["hosts.prod.yaml"])
    """File that lists the bare-metal hosts; it lies beside the stack file."""
    links: Annotated[tuple[Link, ...], Replaces.STATE] = ()
    """Connections that differ from the default. By default every pair of sites is connected: by the cloud's backbone
    inside one cloud, by IPsec otherwise."""
    machine_types: Annotated[dict[str, MachineType], Replaces.STATE] = Field(default_factory=dict)
    """Machine types in addition to the built-in ones, by name. A type with the name of a built-in type replaces it."""
    access: Access
    """Access from outside to the private parts of the environment."""
    identity: Annotated[Identity, Replaces.STATE] = Field(default_factory=Identity)
    """Sign-in of people by a company's own identity provider, and what their groups may do."""
    teams: Annotated[dict[Name, Team], Replaces.STATE] = Field(default_factory=dict, max_length=MOST_TEAMS)
    """Teams by name, each with a namespace of that name and a queue. If left out, there are no queues for teams. A name
    of a top-level domain, such as `ai`, is refused: the team's Services would answer for that domain in all pods. When
    a team is removed from the file, its namespace stays, with what its people made; its queue and its people's rights
    are deleted."""
    vpn: LeftOut[Vpn] = None
    """Machines through which people's laptops reach the environment. If left out, there are none."""
    images: Annotated[Images, Replaces.STATE] = Field(default_factory=Images)
    """Container images that Longhaul cannot pin by itself."""
    pod_security: Annotated[PodSecurity, Replaces.API] = Field(default_factory=PodSecurity)
    """Namespaces in which pods may do more than `baseline` of Kubernetes' Pod Security Standards allows."""
    queues: Annotated[bool | None, Replaces.API] = None
    """True when jobs queue for their teams' capacity: Kueue and JobSet run on the API servers' machines. A change
    replaces these machines, one at a time. If left out, there are queues when there are `teams`."""
    extended_resources: Annotated[tuple[ExtendedResource, ...], Replaces.NOTHING] = Field(
        default=(), max_length=32, examples=[["smarter-devices/fuse"]]
    )
    """Resources of your own device plugins that teams' jobs may request, such as `smarter-devices/fuse`, which SkyPilot
    requests for each pod that mounts a bucket. Queues do not count them. A job that requests a resource that neither
    Longhaul nor this list knows waits for ever: `longhaul capacity` names the resource."""
    tags: Annotated[dict[str, str], Replaces.NOTHING] = Field(default_factory=dict)
    """Tags of every cloud resource, in addition to Longhaul's own (`longhaul-…` and `Name`). Each of the environment's
    clouds must accept the names and values. At most 46 tags; at most 13 where Longhaul makes the DNS zone, because an
    Azure DNS zone has at most 15 in all."""
    naming: Annotated[Naming, Replaces.STATE] = Field(default_factory=Naming)
    """Names of the resources in the clouds."""
    waivers: Annotated[tuple[Waiver, ...], Replaces.STATE] = ()
    """Exceptions to the rules of docs/policy.md."""
    hosts: tuple[Host, ...] = Field(default=(), exclude=True, json_schema_extra={"internal": True})
    """Bare-metal hosts, read from the `bare_metal` file; they are not written in the stack file."""

    @property
    def known_types(self) -> dict[str, MachineProperties]:
        """Machine types by name: the built-in ones and the environment's. The environment's take precedence."""
        return {**known_machine_types(), **self.machine_types}

    def machine_type(self, name: str) -> MachineProperties:
        """Return the type called ``name``; raise ``KeyError`` when neither the environment nor Longhaul has it."""
        return self.known_types[name]

    @property
    def scales(self) -> bool:
        """True when the autoscaler acts; false when there is none, and when it only logs what it would do."""
        return self.autoscaler is not None and not self.autoscaler.dry_run

    @property
    def api_name(self) -> str:
        """Fully qualified name of the API servers' load balancer."""
        return f"api.{self.domain}"
