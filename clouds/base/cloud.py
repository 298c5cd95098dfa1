"""What every cloud answers. An aspect is a protocol that a module of each cloud implements, under the same file name in
each; the cloud loads the module when it is asked for the aspect, so that nobody pays for one that he does not use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from clouds.base.machine_type import MachineType
from clouds.base.site import SiteBase

if TYPE_CHECKING:
    from clouds.base.place import Place
    from clouds.base.policy import Check

SiteT_contra = TypeVar("SiteT_contra", bound=SiteBase, contravariant=True)


class MachineTypes(Protocol):
    """Machine types that a cloud rents."""

    def known(self) -> dict[str, MachineType]:
        """Every type that needs no declaration, by the name its cloud gives it."""


class Made(Protocol[SiteT_contra]):
    """Parts of a site that are made, and parts that are there already."""

    def makes_vpn_gateway(self, site: SiteT_contra, /) -> bool:
        """Whether the site gets a VPN gateway of its own from the cloud, if it has tunnels."""

    def there_already(self, site: SiteT_contra, /) -> tuple[str, ...]:
        """What the site has already, in words."""


class Policy(Protocol[SiteT_contra]):
    """Looks at a cloud's resources for what breaks a rule of docs/policy.md."""

    def checks(self) -> tuple[Check, ...]:
        """Every look that there is."""

    def public(self, place: Place[SiteT_contra], /) -> frozenset[str]:
        """Names of the site's own resources that have to be at the internet: its egress and its IPsec gateway."""


class Cloud(Protocol[SiteT_contra]):
    """One cloud, whose sites are of one type; racks count as one. It is not inherited from: each answers it all."""

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
    def rents(self) -> bool:
        """Whether it makes machines when asked, so that pools stand there; racks have hosts instead."""

    @property
    def machine_types(self) -> MachineTypes: ...

    @property
    def made(self) -> Made[SiteT_contra]: ...

    @property
    def policy(self) -> Policy[SiteT_contra]: ...
