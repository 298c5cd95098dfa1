"""The questions, each with its flag and its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from longhaul.init import parsing, pool_parsing
from longhaul.init.answers import CloudSite, GatewayAnswer, HostAnswer, HostsAnswer, PoolAnswer, PrincipalKind, Rack
from longhaul.init.sizes import SIZES, SizeAnswer

if TYPE_CHECKING:
    from clouds.base.machine_types import MachineProperties

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, kw_only=True)
class InterviewQuestion(Generic[AnswerT]):
    """One question."""

    flag: str
    """Name of the flag without its dashes."""
    metavar: str
    text: str
    """Prompt for a person, one line."""
    parse: Callable[[str], AnswerT]
    """Converts the text of an answer. Raises ``ValueError`` with what is wrong."""
    help: str = ""
    """Text for ``--help``; the prompt if left out."""
    default: str = ""
    """Answer when none is given; empty when an answer is required."""
    many: bool = False
    """True when it takes several answers: a flag each, or a line each."""

    @property
    def dest(self) -> str:
        """Return the attribute of the parsed command line that has the answer."""
        return self.flag.replace("-", "_")


def supernet(taken: Mapping[IPv4Network, str], *, prefix: int) -> InterviewQuestion[IPv4Network]:
    """Return the question for the environment's range. ``taken`` are other ranges with their owners, ``prefix`` is the
    prefix length of the free range that is suggested."""
    from components.model.network.free_range import free

    offered = free(taken, prefix=prefix)
    return InterviewQuestion(
        flag="supernet",
        metavar="RANGE",
        text="Private range for every address, /16 or larger, that nothing else of yours uses",
        parse=partial(parsing.supernet, taken=taken),
        default="" if offered is None else str(offered),
    )


def domain(name: str) -> InterviewQuestion[str]:
    """Return the question for the private zone of the environment ``name``."""
    return InterviewQuestion(
        flag="domain",
        metavar="NAME",
        text="Private DNS zone; the API server is `api.` in it",
        parse=parsing.domain,
        default=f"{name}.longhaul.internal",
        help="private DNS zone (default: E.longhaul.internal)",
    )


def administrator_key(home: Path) -> InterviewQuestion[str]:
    """Return the question for the administrator's key. The default is the key at the usual path."""
    usual = home / ".ssh" / "id_ed25519.pub"
    return InterviewQuestion(
        flag="administrator-key",
        metavar="FILE",
        text="SSH public key of cloud machines: its file, or the key itself",
        parse=parsing.administrator_key,
        default=str(usual) if usual.is_file() else "",
    )


NAME: InterviewQuestion[str] = InterviewQuestion(
    flag="env",
    metavar="E",
    text="Name of the environment: part of every machine's name",
    parse=parsing.name,
)
SIZE: InterviewQuestion[SizeAnswer] = InterviewQuestion(
    flag="size",
    metavar="SIZE",
    text="Control plane: " + ", ".join(f"{name} ({size})" for name, size in SIZES.items()) + ", etcd/events/API",
    parse=parsing.size,
    default="standard",
    help="control plane, members of etcd / of the events' etcd cluster / API servers: "
    + ", ".join(f"{name} ({size})" for name, size in SIZES.items())
    + " (standard)",
)
SUBSCRIPTION: InterviewQuestion[str] = InterviewQuestion(
    flag="azure-subscription",
    metavar="ID",
    text="Azure subscription for the control plane (`az account show --query id`)",
    parse=parsing.uuid,
)
TENANT: InterviewQuestion[str] = InterviewQuestion(
    flag="azure-tenant",
    metavar="ID",
    text="Its tenant (`az account show --query tenantId`)",
    parse=parsing.uuid,
)
AZURE_REGION: InterviewQuestion[str] = InterviewQuestion(
    flag="azure-region",
    metavar="R",
    text="Azure region of the control plane, such as westeurope",
    parse=partial(parsing.region, cloud="azure"),
)
AZURE_ZONES: InterviewQuestion[tuple[str, ...]] = InterviewQuestion(
    flag="azure-zones",
    metavar="1,2,3",
    text="Its availability zones",
    parse=parsing.azure_zones,
    default=parsing.DEFAULT_ZONES["azure"],
    help=f"availability zones ({parsing.DEFAULT_ZONES['azure']})",
)
AZURE_IMAGE: InterviewQuestion[str] = InterviewQuestion(
    flag="azure-image",
    metavar="ID",
    text="Image of its machines",
    parse=partial(parsing.image, cloud="azure"),
    help="resource id of an existing image version",
)
OFFICER: InterviewQuestion[tuple[str, PrincipalKind]] = InterviewQuestion(
    flag="officer",
    metavar="'ID KIND'",
    text="Identity that runs `longhaul up`: object id in Entra, and `user` or `service`\n"
    "  (`az ad signed-in-user show --query id`)",
    parse=parsing.officer,
    many=True,
    help="the identity that runs `up`: object id in Entra, and `user` or `service`; may be repeated",
)
OPERATORS: InterviewQuestion[IPv4Network] = InterviewQuestion(
    flag="operators",
    metavar="RANGE",
    text="Public range that operators and CI come from: the vault lets nobody else in",
    parse=parsing.operators,
    many=True,
    help="public range of operators and CI; may be repeated",
)
AZURE_MACHINE_TYPE: InterviewQuestion[str] = InterviewQuestion(
    flag="azure-machine-type",
    metavar="T",
    text="Azure pool: machine type, such as Standard_D8s_v5",
    parse=partial(parsing.machine_type, cloud="azure"),
    help="a node pool beside the control plane: its machine type",
)
AZURE_MAX: InterviewQuestion[int] = InterviewQuestion(
    flag="azure-max",
    metavar="N",
    text="Azure pool: maximum number of machines",
    parse=parsing.machines,
    default="4",
    help="its maximum number of machines (4)",
)
AWS_REGION: InterviewQuestion[str] = InterviewQuestion(
    flag="aws-region",
    metavar="R",
    text="AWS region, such as us-east-1; the account is that of your credentials",
    parse=partial(parsing.region, cloud="aws"),
    help="a site on AWS with one pool: its region",
)
AWS_ZONES: InterviewQuestion[tuple[str, ...]] = InterviewQuestion(
    flag="aws-zones",
    metavar="a,b",
    text="Its availability zones, two at least",
    parse=parsing.aws_zones,
    default=parsing.DEFAULT_ZONES["aws"],
    help=f"its availability zones ({parsing.DEFAULT_ZONES['aws']})",
)
AWS_IMAGE: InterviewQuestion[str] = InterviewQuestion(
    flag="aws-image",
    metavar="ID",
    text="Image of its machines",
    parse=partial(parsing.image, cloud="aws"),
    help="id of an existing image",
)
AWS_MACHINE_TYPE: InterviewQuestion[str] = InterviewQuestion(
    flag="aws-machine-type",
    metavar="T",
    text="AWS pool: machine type, such as m7i.xlarge",
    parse=partial(parsing.machine_type, cloud="aws"),
    help="its pool's machine type",
)
AWS_MAX: InterviewQuestion[int] = InterviewQuestion(
    flag="aws-max",
    metavar="N",
    text="AWS pool: maximum number of machines",
    parse=parsing.machines,
    default="4",
    help="its pool's maximum number of machines (4)",
)
AZURE_SITE: InterviewQuestion[CloudSite] = InterviewQuestion(
    flag="azure-site",
    metavar="'REGION [ZONES] [IMAGE]'",
    text="Another site on Azure, for nodes",
    parse=partial(parsing.cloud_site, cloud="azure"),
    many=True,
    help="another site on Azure, for nodes; may be given several times",
)
AWS_SITE: InterviewQuestion[CloudSite] = InterviewQuestion(
    flag="aws-site",
    metavar="'REGION [ZONES] [IMAGE]'",
    text="A site on AWS",
    parse=partial(parsing.cloud_site, cloud="aws"),
    many=True,
    help="a site on AWS, such as 'us-east-1 a,b,c'; may be given several times",
)
MACHINE_TYPE: InterviewQuestion[tuple[str, MachineProperties]] = InterviewQuestion(
    flag="machine-type",
    metavar="'TYPE CLOUD KEY=VALUE ...'",
    text="A machine type that is not built in",
    parse=pool_parsing.machine_type,
    many=True,
    help="a machine type that is not built in, such as 'g5.24xlarge aws vcpus=96 memory_gib=384 gpus=4', with the keys "
    "of `machine_types`; may be given several times",
)
POOL: InterviewQuestion[PoolAnswer] = InterviewQuestion(
    flag="pool",
    metavar="'SITE TYPE MAX [NAME] [KEY=VALUE ...]'",
    text="A node pool",
    parse=partial(pool_parsing.pool, declared={}),
    many=True,
    help="a node pool in a site, which has its region's name: machine type and maximum number of machines, then "
    "optionally spot, min=N, zones=a,b, and reservation=ID or capacity-block=ID; may be given several times",
)
ONPREM_SITE: InterviewQuestion[Rack] = InterviewQuestion(
    flag="onprem-site",
    metavar="'NAME ADDRESS [ADDRESS]'",
    text="A site of racks",
    parse=parsing.onprem_site,
    many=True,
    help="a site of racks: its name and the public address of each gateway; may be given several times",
)
USED: InterviewQuestion[IPv4Network] = InterviewQuestion(
    flag="used",
    metavar="RANGE",
    text="A private range that something else of yours uses",
    parse=parsing.network,
    many=True,
    help="a range that is already in use, which is then avoided; may be repeated",
)
HOSTS: InterviewQuestion[HostsAnswer] = InterviewQuestion(
    flag="hosts",
    metavar="'N[xGPUS] [SITE]'",
    text="Equal hosts: their number, and the GPUs in each, such as 96x8",
    parse=parsing.hosts,
    many=True,
    help="a number of equal hosts, such as 96x8 with 8 GPUs each, which get names; may be given several times",
)
GATEWAY: InterviewQuestion[GatewayAnswer] = InterviewQuestion(
    flag="gateway",
    metavar="'ADDRESS [HOSTKEY]'",
    text="Gateways of the racks, one or two: static public address, and SSH host key if you have it\n"
    "  (a line of `ssh-keyscan -t ed25519 ADDRESS`, once compared, fits)",
    parse=parsing.gateway,
    many=True,
    help="the site `rack`: a gateway's public address and SSH host key; once or twice",
)
HOST: InterviewQuestion[HostAnswer] = InterviewQuestion(
    flag="host",
    metavar="'NAME [GPUS] [HOSTKEY]'",
    text="Single hosts in the racks: name, GPUs, and SSH host key if you have it",
    parse=parsing.host,
    many=True,
    help="a bare-metal host; may be given several times",
)


def pool(declared: Mapping[str, MachineProperties]) -> InterviewQuestion[PoolAnswer]:
    """Return the question for a pool, whose machine type may be one of ``declared``."""
    return replace(POOL, parse=partial(pool_parsing.pool, declared=declared))


FIXED: tuple[InterviewQuestion[Any], ...] = (
    SIZE,
    SUBSCRIPTION,
    TENANT,
    AZURE_REGION,
    AZURE_ZONES,
    AZURE_IMAGE,
    OFFICER,
    OPERATORS,
    AZURE_MACHINE_TYPE,
    AZURE_MAX,
    AWS_REGION,
    AWS_ZONES,
    AWS_IMAGE,
    AWS_MACHINE_TYPE,
    AWS_MAX,
    AZURE_SITE,
    AWS_SITE,
    MACHINE_TYPE,
    POOL,
    ONPREM_SITE,
    GATEWAY,
    HOSTS,
    HOST,
    USED,
)
"""Questions that do not depend on other answers, in the order of ``--help``."""
