"""What every cloud answers. An aspect is a protocol that a module of each cloud implements, under the same file name in
each; the cloud loads the module when it is asked for the aspect, so that nobody pays for one that he does not use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from clouds.base.baking import Asked, Recipe
from clouds.base.control import CommandOutput, MachineView
from clouds.base.doctor import Question, Share
from clouds.base.fault import Fault
from clouds.base.fitting import SiteRanges
from clouds.base.fleet import LiveGroup
from clouds.base.groups import PoolGroup
from clouds.base.kinds import Kind, Lasting
from clouds.base.listing import PublicAddress
from clouds.base.machine_type import MachineType
from clouds.base.names import Main, Sized
from clouds.base.picture import Picture
from clouds.base.place import Place
from clouds.base.policy import Check
from clouds.base.prices import Asking, Batch, Key, Part
from clouds.base.site import SiteBase
from clouds.base.tags import Most
from clouds.base.tunnels import TunnelView

SiteT_contra = TypeVar("SiteT_contra", bound=SiteBase, contravariant=True)


class Checks(Protocol[SiteT_contra]):
    """Parts that are named instead of made, as far as the file alone tells."""

    def faults(self, place: Place[SiteT_contra], earlier: Sequence[Place[SiteT_contra]], /) -> Iterator[Fault]:
        """Everything wrong with a site's parts, also beside those of the cloud's sites before it in the file."""

    def network(self, site: SiteT_contra, /) -> tuple[str, str] | None:
        """Key below ``existing`` and id of the network that is named."""


class Control(Protocol[SiteT_contra]):
    """Machines of a control plane, and its vault. Machines go by their host names; everything raises ``CloudError``."""

    def machines(self, place: Place[SiteT_contra], /) -> list[MachineView]:
        """Every one that there is."""

    def run_command(
        self, place: Place[SiteT_contra], machine: str, script: str, /, *, timeout_s: float = 120.0
    ) -> CommandOutput:
        """Run a shell script as root in a machine through the cloud's agent: no route to the machine is needed."""

    def start(self, place: Place[SiteT_contra], machine: str, /) -> None:
        """Switch a machine on, and wait until it runs."""

    def restart(self, place: Place[SiteT_contra], machine: str, /) -> None:
        """Switch a machine off and on again, and wait until it runs."""

    def secret(self, place: Place[SiteT_contra], vault: str, name: str, /) -> str | None:
        """The value of a secret in the vault; None when there is no such secret."""

    def free_vault(self, place: Place[SiteT_contra], vault: str, /) -> None:
        """Let the name of a vault that was destroyed be used again; the error says what somebody has to do."""


class Doctor(Protocol[SiteT_contra]):
    """Looks whether what an environment needs of a cloud is there and allowed, before anything is made."""

    def services(self, share: Share[SiteT_contra], /) -> dict[str, tuple[str, ...]]:
        """Addresses of the cloud's own services that are needed, by the sites that need each."""

    def questions(self, share: Share[SiteT_contra], /) -> Iterator[Question]:
        """What is asked of a share that has sites."""


class Fleet(Protocol[SiteT_contra]):
    """Pools as the cloud has them."""

    def of_pool(self, place: Place[SiteT_contra], name: str, /) -> Mapping[str, LiveGroup]:
        """A pool's groups by name, each to be filled before the next."""


class Groups(Protocol[SiteT_contra]):
    """Groups of like machines that pools become."""

    def word(self) -> str:
        """What one is called, in words."""

    def of_pool(self, place: Place[SiteT_contra], name: str, /) -> tuple[PoolGroup, ...]:
        """A pool's groups, each to be filled before the next."""

    def largest(self, type_: str, machine_type: str, /) -> int | None:
        """Machines that a group of a type of the program's resources can hold; None where the group says so itself, or
        is another cloud's."""

    def may_name(self, place: Place[SiteT_contra], pool: str, machine: str, /) -> bool:
        """Whether a pool's machine may be called so."""

    def nobody(self, place: Place[SiteT_contra], pool: str, /) -> str:
        """A name as a pool's machines have, of no machine."""


class Held(Protocol[SiteT_contra]):
    """Facts that stay as they are while an environment is in use."""

    def facts(self, site: SiteT_contra, ranges: SiteRanges, /) -> dict[str, str]:
        """Those of a site besides its kind and range, by key below the site's in the file."""


class Images(Protocol[SiteT_contra]):
    """Images that machines boot."""

    def stands_for_none(self, site: SiteT_contra, /) -> bool:
        """Whether the id that a site's file gives stands for an image that is still to be baked."""

    def placeholder(self, account: str, /, *, kind: str) -> str:
        """The id to give until the first image of a kind is baked; ``account`` is whose it will be, where ids tell."""

    def recipe(self, site: SiteT_contra, asked: Asked, version: str, /) -> Recipe:
        """How an image is baked as it is asked for; ``ValueError`` with what is wrong."""

    def credentials(self, environ: Mapping[str, str], /, *, needed: bool) -> dict[str, str]:
        """Variables by which Packer is who all of the commands are; ``CloudError`` when there is nobody to be, and one
        is ``needed``."""

    def leftovers(self, name: str, image: str, variables: Mapping[str, Any], /) -> list[str]:
        """Commands that tell whether anything is left of a bake that was killed."""


class Listing(Protocol[SiteT_contra]):
    """What the cloud itself lists of an environment, of a site or of the site's region."""

    def public_addresses(self, place: Place[SiteT_contra], /) -> Iterable[PublicAddress]:
        """Public addresses that are the environment's."""

    def left(self, place: Place[SiteT_contra], /) -> list[str]:
        """All that is there of it, in words."""


class MachineIdentity(Protocol[SiteT_contra]):
    """Identities that the cloud gives its machines, by which others know them."""

    def issuer(self, site: SiteT_contra, /) -> str | None:
        """The issuer of their tokens, without the scheme; None where nobody else believes these."""

    def scope(self, site: SiteT_contra, /) -> str:
        """What the site's accounts are told apart by, in names that have to differ the world over."""


class MachineTypes(Protocol):
    """Machine types that a cloud rents."""

    def known(self) -> dict[str, MachineType]:
        """Every type that needs no declaration, by the name its cloud gives it."""


class Made(Protocol[SiteT_contra]):
    """Parts of a site that are made, and parts that are there already."""

    def charged(self, place: Place[SiteT_contra], remote: int, /) -> Iterator[tuple[Part, int]]:
        """How many parts of its network the cloud charges for by the hour; ``remote``: addresses of the gateways at the
        other ends of its tunnels."""

    def there_already(self, site: SiteT_contra, /) -> tuple[str, ...]:
        """What the site has already, in words."""


class Names(Protocol[SiteT_contra]):
    """Names that could become too long, with the most that the cloud takes; of many alike the longest suffices."""

    def main(self, place: Place[SiteT_contra], /) -> Iterator[Main]:
        """The main things of a site, its pools apart, whatever their length: to be seen before anything is made."""

    def of_site(self, place: Place[SiteT_contra], /) -> Iterator[Sized]:
        """Those of the site's own."""

    def of_pool(self, place: Place[SiteT_contra], pool: str, /) -> Iterator[Sized]:
        """Those of one of its pools."""

    def of_link(self, place: Place[SiteT_contra], link: str, end: str, /) -> Iterator[Sized]:
        """Those of a tunnel to ``end``, one of the other site's (:class:`Tunnels`)."""


class NodeController(Protocol[SiteT_contra]):
    """Machines as the node controller asks for them, to judge who may be a node."""

    def takes_role(self) -> bool:
        """Whether it asks with a role of the cloud's that the program makes."""

    def source(self, place: Place[SiteT_contra], /) -> dict[str, str]:
        """What it asks with, for its document (images/rootfs, controller/environment.py)."""


class Policy(Protocol[SiteT_contra]):
    """Looks at a cloud's resources for what breaks a rule of docs/policy.md."""

    def checks(self) -> tuple[Check, ...]:
        """Every look that there is."""

    def public(self, place: Place[SiteT_contra], /) -> frozenset[str]:
        """Names of the site's own resources that have to be at the internet: its egress and its IPsec gateway."""


class Prices(Protocol[SiteT_contra]):
    """Prices that a cloud publishes."""

    def published(self, source: str, url: str, /) -> bool:
        """Whether a price that says it is from ``source`` was read from the cloud, or its mirror at ``url``."""

    def batches(self, keys: tuple[Key, ...], asking: Asking[SiteT_contra], /) -> list[Batch]:
        """The questions that answer those of ``keys`` that are the cloud's."""


class Resources(Protocol):
    """Types of the program's resources, to whoever judges a change."""

    def kinds(self) -> Mapping[str, Kind]:
        """What a type's resources are to the cluster; of types that are not there, nothing that matters."""

    def ranges(self) -> Mapping[str, tuple[str, ...]]:
        """Where a type's resources have their ranges, as dotted paths; whole networks first."""

    def lasting(self) -> Mapping[str, Lasting]:
        """Types whose resources are not deleted while the environment is in use. A resource that goes with its site
        has the site's tag."""

    def sealed(self) -> tuple[str, ...]:
        """Types that a search for drift leaves out: to read one is to read a tunnel's key, which its role forbids."""

    def rules(self, type_: str, inputs: Mapping[str, Any], /) -> tuple[str, ...]:
        """Security rules of a resource, a line each: direction, ports, ranges. Empty for another type."""


class Tags(Protocol[SiteT_contra]):
    """Tags that the cloud takes."""

    def fault(self, key: str, value: str, places: Sequence[Place[SiteT_contra]], /) -> tuple[str, str] | None:
        """What is wrong with a tag on everything at ``places``, all that the environment has there; what to write."""

    def most(self, places: Sequence[Place[SiteT_contra]], /) -> Most | None:
        """How many tags an environment may declare; None for any number."""


class Tunnels(Protocol[SiteT_contra]):
    """Tunnels to a site."""

    def ends(self, site: SiteT_contra, /) -> tuple[str, ...]:
        """What each end of the other site has a tunnel to, as connections to it are called."""

    def seen(self, place: Place[SiteT_contra], links: Sequence[str], /) -> list[TunnelView]:
        """Tunnels of these links as the site's own gateway sees them; ``CloudError`` when the cloud does not say."""

    def addresses(self, site: SiteT_contra, /) -> int:
        """How many public addresses the other site's gateways call it at."""


class Cloud(Protocol[SiteT_contra]):
    """One cloud, whose sites are of one type; racks count as one. It is not inherited from: each answers it
    all. What its class inherits is how its modules are loaded (:class:`~clouds.base.aspects.Aspects`)."""

    @property
    def kind(self) -> str:
        """The word that files have for it."""

    @property
    def title(self) -> str:
        """Its name in a sentence."""

    @property
    def site_type(self) -> type[SiteBase]:
        """The section that a site of it is declared by."""

    @property
    def holds_control_plane(self) -> bool:
        """Whether a control plane can stand there."""

    @property
    def rents(self) -> bool:
        """Whether it makes machines when asked, so that pools stand there; racks have hosts instead."""

    @property
    def checks(self) -> Checks[SiteT_contra]: ...

    @property
    def control(self) -> Control[SiteT_contra] | None:
        """None where no control plane can be asked yet."""

    @property
    def doctor(self) -> Doctor[SiteT_contra]: ...

    @property
    def fleet(self) -> Fleet[SiteT_contra]: ...

    @property
    def groups(self) -> Groups[SiteT_contra]: ...

    @property
    def held(self) -> Held[SiteT_contra]: ...

    @property
    def images(self) -> Images[SiteT_contra]: ...

    @property
    def listing(self) -> Listing[SiteT_contra]: ...

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
    def provider(self) -> str:
        """The engine's provider of what is made in it; empty where what is made needs none."""

    @property
    def resources(self) -> Resources: ...

    @property
    def tags(self) -> Tags[SiteT_contra]: ...

    @property
    def tunnels(self) -> Tunnels[SiteT_contra]: ...

    @property
    def user_data_limit(self) -> int | None:
        """Bytes of user data that a machine takes; None where it takes none at all."""
