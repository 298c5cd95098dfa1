"""Protocols that every cloud implements.

An aspect is a protocol, such as :class:`Tunnels`. In each cloud, one module implements one aspect, under the same file
name in each cloud; its functions are the protocol's methods. A cloud imports the module only when the aspect is used,
so unused aspects cost no start-up time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from clouds.base.baking import BakeOptions, Recipe
from clouds.base.caution import Caution
from clouds.base.control import BackupView, CommandOutput, MachineView
from clouds.base.doctor import Question, Share
from clouds.base.fault import Fault
from clouds.base.fitting import SiteRanges
from clouds.base.fleet import LiveGroup
from clouds.base.groups import PoolGroup
from clouds.base.kinds import Kind, Lasting
from clouds.base.listing import PublicAddress
from clouds.base.machine_access import MachineAccess
from clouds.base.machine_type import MachineType
from clouds.base.names import Main, Sized
from clouds.base.picture import Picture
from clouds.base.place import Place
from clouds.base.policy import Check
from clouds.base.pool import Pool
from clouds.base.prices import Asking, Batch, Key, Part
from clouds.base.quarantine import Quarantine
from clouds.base.rdma import Rdma
from clouds.base.risks import Risk
from clouds.base.room import Room
from clouds.base.site import SiteBase
from clouds.base.tags import Most
from clouds.base.tunnels import TunnelView

SiteT_contra = TypeVar("SiteT_contra", bound=SiteBase, contravariant=True)


class Checks(Protocol[SiteT_contra]):
    """Checks of a site, its pools and the existing parts that it names, as far as the file alone tells."""

    def faults(self, place: Place[SiteT_contra], earlier: Sequence[Place[SiteT_contra]], /) -> Iterator[Fault]:
        """Yield every fault of a site's pools and of the parts that it names; nothing when all is correct. The cloud is
        not asked. ``earlier`` holds the cloud's sites that come before this one in the file, for faults between two
        sites."""

    def network(self, site: SiteT_contra, /) -> tuple[str, str] | None:
        """Return the key below ``existing`` and the id of the network that the site names; None when it names none."""


class Control(Protocol[SiteT_contra]):
    """Machines of a control plane, and its vault. Methods take and return host names of machines, without the prefix of
    the environment's names in the cloud. Every method raises ``CloudError`` when the cloud refuses or does not
    answer."""

    def machines(self, place: Place[SiteT_contra], /) -> list[MachineView]:
        """Return all virtual machines of the control plane's site; an empty list when there are none."""

    def run_command(
        self, place: Place[SiteT_contra], machine: str, script: str, /, *, timeout_s: float = 120.0
    ) -> CommandOutput:
        """Run a shell script as root on a machine through the cloud's agent, and return its output. No network route to
        the machine is needed. Raise ``CloudError`` when the script does not end within ``timeout_s`` seconds."""

    def start(self, place: Place[SiteT_contra], machine: str, /) -> None:
        """Start a machine, and return when it runs."""

    def restart(self, place: Place[SiteT_contra], machine: str, /) -> None:
        """Restart a machine, and return when it runs again."""

    def secret(self, place: Place[SiteT_contra], vault: str, name: str, /) -> str | None:
        """Return the newest value of a secret in the vault; None when there is no such secret."""

    def set_secret(self, place: Place[SiteT_contra], vault: str, name: str, value: str, /) -> None:
        """Write a new version of a secret in the vault; its value is JSON or PEM."""

    def signed_in(self, place: Place[SiteT_contra], /) -> str:
        """Return who the caller is to the vault, by a name that means something to people where there is one, as far as
        answers to earlier requests say; otherwise an empty text. It is for logs and proves nothing."""

    def backups(self, place: Place[SiteT_contra], storage: str, container: str, prefix: str, /) -> list[BackupView]:
        """Return what a container of the backups' storage holds below a prefix, the oldest first."""

    def fetch_backup(self, place: Place[SiteT_contra], storage: str, container: str, name: str, to: Path, /) -> None:
        """Write the content of one backup to a file."""

    def backup_head(self, place: Place[SiteT_contra], storage: str, container: str, name: str, length: int, /) -> bytes:
        """Return the first bytes of one backup, ``length`` at most."""

    def free_vault(self, place: Place[SiteT_contra], vault: str, /) -> None:
        """Purge a deleted vault, so that its name can be used again. Do nothing when there is no deleted vault of that
        name. The message of the ``CloudError`` says what the user has to do."""


class Doctor(Protocol[SiteT_contra]):
    """Checks, before anything is made, that what an environment needs of a cloud is there and is allowed."""

    def services(self, share: Share[SiteT_contra], /) -> dict[str, tuple[str, ...]]:
        """Return the URLs of the cloud's own services that are needed, each with the names of the sites that need
        it."""

    def questions(self, share: Share[SiteT_contra], /) -> Iterator[Question]:
        """Yield the questions to ask about a share. It is called only for a share that has sites. ``run`` of a question
        may raise ``NotAskedError``; the finding is then ``unknown``."""


class Fleet(Protocol[SiteT_contra]):
    """Running groups of pools, as the cloud lists them."""

    def of_pool(self, place: Place[SiteT_contra], name: str, /) -> Mapping[str, LiveGroup]:
        """Return a pool's groups by their names in the cloud, in the order in which they are filled; empty where no
        pool can be."""


class Groups(Protocol[SiteT_contra]):
    """Groups of like machines that pools become, such as scale sets."""

    def word(self) -> str:
        """Return the cloud's word for one group, a singular noun such as ``scale set``."""

    def of_pool(self, place: Place[SiteT_contra], name: str, /) -> tuple[PoolGroup, ...]:
        """Return a pool's groups in the order in which they are filled: each is filled before the next."""

    def largest(self, type_: str, machine_type: str, /) -> int | None:
        """Return the number of machines that a group can hold. ``type_`` is the type of a resource of the program, such
        as ``aws:autoscaling/group:Group``. Return None when the group has a maximum of its own, or when the type
        belongs to another cloud."""

    def may_name(self, place: Place[SiteT_contra], pool: str, machine: str, /) -> bool:
        """Return whether a machine of the pool may have this name."""

    def unused_name(self, place: Place[SiteT_contra], pool: str, /) -> str:
        """Return a name in the form of the pool's machine names that no machine has."""


class Immutable(Protocol[SiteT_contra]):
    """Immutable settings of a site."""

    def settings(self, site: SiteT_contra, ranges: SiteRanges, /) -> dict[str, str]:
        """Return a site's immutable settings besides its kind and its range: key below the site's own in the file, and
        value as text."""


class Images(Protocol[SiteT_contra]):
    """Images that machines boot."""

    def is_placeholder(self, site: SiteT_contra, /) -> bool:
        """Return whether the image id in a site's section is the placeholder of an image that is still to be baked."""

    def placeholder(self, account: str, /, *, kind: str) -> str:
        """Return the id to write until the first image of a kind (``node`` or ``gpu``) is baked. ``account`` is the
        account that will hold the image; a cloud whose image ids name no account ignores it."""

    def recipe(self, site: SiteT_contra, asked: BakeOptions, version: str, /) -> Recipe:
        """Return the settings with which Packer bakes the requested image. Raise ``ValueError`` when an option cannot
        be used; the message names the option and says what is wrong."""

    def credentials(self, environ: Mapping[str, str], /, *, needed: bool) -> dict[str, str]:
        """Return environment variables with which Packer uses the same credentials as all commands. Raise
        ``CloudError`` when ``needed`` is true and there are no credentials."""

    def leftovers(self, name: str, image: str, variables: Mapping[str, Any], /) -> list[str]:
        """Return shell commands that show what a killed bake left behind, one command for each entry. ``name`` is the
        name of the bake, ``image`` is :attr:`Recipe.image` and ``variables`` holds all Packer variables."""


class Listing(Protocol[SiteT_contra]):
    """Resources of an environment that the cloud itself lists, in a site or in the site's region. Every method raises
    ``CloudError`` when the cloud refuses or does not answer."""

    def public_addresses(self, place: Place[SiteT_contra], /) -> Iterable[PublicAddress]:
        """Return the public addresses of the environment. Two sites of one region may return the same address."""

    def remaining(self, place: Place[SiteT_contra], /) -> list[str]:
        """Return one text for each resource of the environment that is still there, such as ``vpc-… in us-east-1``; an
        empty list when nothing is left."""


class MachineIdentity(Protocol[SiteT_contra]):
    """Identities that the cloud gives its machines, and that other clouds can verify."""

    def issuer(self, site: SiteT_contra, /) -> str | None:
        """Return the issuer of the machines' tokens, without the scheme; None when no other cloud accepts these
        tokens."""

    def scope(self, site: SiteT_contra, /) -> str:
        """Return the text that distinguishes the cloud's accounts, such as a subscription's id. A vault's name, which
        must be unique worldwide, contains a digest of it. A cloud that holds no control plane may return its kind."""


class MachineTypes(Protocol):
    """Machine types that a cloud offers."""

    def known(self) -> dict[str, MachineType]:
        """Return the built-in machine types by the cloud's own names. They need no declaration in the file."""

    def rdma(self, pool: Pool, /) -> Rdma | None:
        """Return the RDMA network that connects a pool's machines, if any."""


class Made(Protocol[SiteT_contra]):
    """Parts of a site that Longhaul makes, and parts that exist already."""

    def hourly_parts(self, place: Place[SiteT_contra], remote: int, /) -> Iterator[tuple[Part, int]]:
        """Yield the parts of the site's network that the cloud charges for by the hour, each with its number. The
        number may be 0. ``remote`` is the number of public addresses of the gateways at the other ends of its
        tunnels."""

    def existing_parts(self, site: SiteT_contra, /) -> tuple[str, ...]:
        """Return a phrase for each existing part that the site names, such as ``VPC``; empty when it names none."""


class Names(Protocol[SiteT_contra]):
    """Names that could become too long, with the maximum length in the cloud. Of several names of one kind, the longest
    is enough."""

    def main(self, place: Place[SiteT_contra], /) -> Iterator[Main]:
        """Yield the names of a site's main resources, without its pools, of any length. The user sees them before
        anything is made."""

    def of_site(self, place: Place[SiteT_contra], /) -> Iterator[Sized]:
        """Yield names of the site's own resources."""

    def of_pool(self, place: Place[SiteT_contra], pool: str, /) -> Iterator[Sized]:
        """Yield names of resources and nodes of one of the site's pools."""

    def of_link(self, place: Place[SiteT_contra], link: str, end: str, /) -> Iterator[Sized]:
        """Yield names of the resources of one tunnel. ``link`` is the link's name and ``end`` is an end of the other
        site (:meth:`Tunnels.ends`)."""


class NodeController(Protocol[SiteT_contra]):
    """Access of the node controller to the cloud. The node controller lists machines there, and decides which of them
    may become nodes."""

    def takes_role(self) -> bool:
        """Return whether the node controller needs a role in the cloud that the program makes."""

    def settings(self, place: Place[SiteT_contra], /) -> dict[str, str]:
        """Return the site's settings in the node controller's document: key and value (images/rootfs,
        controller/environment.py). The caller adds ``kind``."""


class Policy(Protocol[SiteT_contra]):
    """Checks of a cloud's resources against the rules of docs/policy.md."""

    def checks(self) -> tuple[Check, ...]:
        """Return every check of the cloud's resources."""

    def public(self, place: Place[SiteT_contra], /) -> frozenset[str]:
        """Return the names of the site's own resources that must be reachable from the internet: its egress and its
        IPsec gateway."""


class Prices(Protocol[SiteT_contra]):
    """Prices that a cloud publishes."""

    def published(self, source: str, url: str, /) -> bool:
        """Return whether a price with this ``source`` was read from the cloud, or from its mirror at ``url``. ``url``
        is empty when there is no mirror."""

    def batches(self, keys: tuple[Key, ...], asking: Asking[SiteT_contra], /) -> list[Batch]:
        """Return batches that read the prices of the cloud's own ``keys``. Leave out keys of other clouds, and keys for
        which the cloud publishes no price."""


class Promises(Protocol[SiteT_contra]):
    """Limits of a site and its pools, against which a file's promises are checked without asking the cloud."""

    def rooms(self, site: SiteT_contra, ranges: SiteRanges, /) -> tuple[Room, ...]:
        """Return the ranges from which nodes of pools get addresses, with the number of nodes that fit into each. No
        zone is in two of them. Empty when nothing is known, and for a site without pools."""

    def peered(self, sites: int, pods_each: int, /) -> int | None:
        """Return the largest number of nodes that so many sites have together if their networks are peered, where a
        node has ``pods_each`` addresses for pods; None when the cloud sets no limit."""

    def cautions(self, place: Place[SiteT_contra], /) -> Iterator[Caution]:
        """Yield doubts about the site's region and about its pools' machine types, by the cloud's dated table."""


class Resources(Protocol):
    """Types of the program's resources in the cloud, for the plan and for previews."""

    def kinds(self) -> Mapping[str, Kind]:
        """Return the kind of each resource type. The plan treats any other type as ``Kind.OTHER``."""

    def ranges(self) -> Mapping[str, tuple[str, ...]]:
        """Return, for each resource type, the dotted paths of the properties that hold its ranges. Types of whole
        networks come first."""

    def lasting(self) -> Mapping[str, Lasting]:
        """Types whose resources are not deleted while the environment is in use. A resource that goes with its site
        has the site's tag."""

    def sealed(self) -> tuple[str, ...]:
        """Types that a search for drift leaves out: to read one is to read a tunnel's key, which its role forbids."""

    def rules(self, type_: str, inputs: Mapping[str, Any], /) -> tuple[str, ...]:
        """Security rules of a resource, a line each: direction, ports, ranges. Empty for another type."""


class Tags(Protocol[SiteT_contra]):
    """Tags that the cloud accepts."""

    def fault(self, key: str, value: str, places: Sequence[Place[SiteT_contra]], /) -> tuple[str, str] | None:
        """Return two phrases when the cloud does not accept a tag: what is wrong, and what to write instead. Return
        None when it accepts the tag. ``places`` holds all sites of the environment in this cloud. The first phrase
        follows the tag's name in a sentence, such as ``has 130 characters``."""

    def limit(self, places: Sequence[Place[SiteT_contra]], /) -> Most | None:
        """Return the largest number of tags that an environment may declare; None when there is no limit."""


class Tunnels(Protocol[SiteT_contra]):
    """Tunnels to a site."""

    def ends(self, site: SiteT_contra, /) -> tuple[str, ...]:
        """Return the labels of the site's tunnel ends. Each end of the other site has a tunnel to each of them, unless
        one of the sites is single. The names of connections contain these labels."""

    def is_single(self, site: SiteT_contra, /) -> bool:
        """Return whether the site has one connection to each other site, because its gateway would not use another one
        when that is down."""

    def seen(self, place: Place[SiteT_contra], links: Sequence[str], /) -> list[TunnelView]:
        """Return the tunnels of these links as the site's own gateway sees them; an empty list when no cloud knows this
        gateway. Raise ``CloudError`` when the cloud does not answer."""

    def addresses(self, site: SiteT_contra, /) -> int:
        """Return the number of public addresses at which the other site's gateways reach this site."""

    def risks(self, place: Place[SiteT_contra], others: Mapping[str, SiteBase], /) -> Iterator[Risk]:
        """Yield the risks of the site's own gateway, which has tunnels to these other sites."""


class Cloud(Protocol[SiteT_contra]):
    """One cloud, whose sites are of one type; racks count as one. It is not inherited from: each answers it
    all. What its class inherits is how its modules are loaded (:class:`~clouds.base.aspects.Aspects`)."""

    @property
    def kind(self) -> str:
        """Name of the cloud in files, such as ``aws``; the value of a site's ``kind``."""

    @property
    def title(self) -> str:
        """Name of the cloud in sentences, such as ``AWS``."""

    @property
    def site_type(self) -> type[SiteBase]:
        """Pydantic model of a site's section in the environment file."""

    @property
    def holds_control_plane(self) -> bool:
        """Return whether a control plane can be in this cloud."""

    @property
    def rents(self) -> bool:
        """Return whether the cloud makes machines on request, so that pools can be there. On-premises sites have hosts
        instead."""

    @property
    def checks(self) -> Checks[SiteT_contra]: ...

    @property
    def control(self) -> Control[SiteT_contra] | None:
        """None when no control plane can be in this cloud yet."""

    @property
    def doctor(self) -> Doctor[SiteT_contra]: ...

    @property
    def fleet(self) -> Fleet[SiteT_contra]: ...

    @property
    def groups(self) -> Groups[SiteT_contra]: ...

    @property
    def immutable(self) -> Immutable[SiteT_contra]: ...

    @property
    def images(self) -> Images[SiteT_contra]: ...

    @property
    def listing(self) -> Listing[SiteT_contra]: ...

    @property
    def machine_access(self) -> MachineAccess: ...

    @property
    def machine_identity(self) -> MachineIdentity[SiteT_contra]: ...

    @property
    def machine_types(self) -> MachineTypes: ...

    @property
    def made(self) -> Made[SiteT_contra]: ...

    @property
    def names(self) -> Names[SiteT_contra]: ...

    @property
    def node_controller(self) -> NodeController[SiteT_contra]: ...

    @property
    def picture(self) -> Picture: ...

    @property
    def policy(self) -> Policy[SiteT_contra]: ...

    @property
    def prices(self) -> Prices[SiteT_contra]: ...

    @property
    def promises(self) -> Promises[SiteT_contra]: ...

    @property
    def provider(self) -> str:
        """Name of the Pulumi provider package; empty when the program makes no resources in this cloud."""

    @property
    def quarantine(self) -> Quarantine[SiteT_contra] | None:
        """None when no machine of a pool can be put into quarantine here."""

    @property
    def resources(self) -> Resources: ...

    @property
    def tags(self) -> Tags[SiteT_contra]: ...

    @property
    def tunnels(self) -> Tunnels[SiteT_contra]: ...

    @property
    def administrator_keys(self) -> Mapping[str, int]:
        """Types of SSH public keys that its machines can be made with, each with its least size in bits; empty when
        they are made without the administrator's key."""

    @property
    def user_data_limit(self) -> int | None:
        """Bytes of user data that a machine takes; None where it takes none at all."""
