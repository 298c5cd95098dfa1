"""A cloud that no one has, whole: what it takes to add one, and all that it takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Literal

from clouds.base.baking import Recipe
from clouds.base.doctor import Question
from clouds.base.fault import Fault
from clouds.base.findings import warning
from clouds.base.groups import PoolGroup
from clouds.base.kinds import Kind
from clouds.base.machine_type import MachineType
from clouds.base.names import Main, Sized
from clouds.base.picture import Picture
from clouds.base.policy import Breach, Check
from clouds.base.rules import INGRESS
from clouds.base.site import SiteBase
from clouds.base.tags import Most

KIND = "meadow"


class MeadowSite(SiteBase):
    """A field in the meadow."""

    kind: Literal["meadow"]
    """The meadow."""
    region: str
    """Its corner."""
    zones: tuple[str, ...] = ("n", "s")
    """Its halves."""
    image: str = "seed-1"
    """What machines grow of."""

    @property
    def gateways(self):
        return ()


def of_pool(place, name):
    pool, own = place.pools[name], place.pool_resource(name)
    return (PoolGroup(name=place.cloud_name(own), resource=own, min=pool.min, max=pool.max),)


def faults(place, earlier):
    if place.site.region == "swamp":
        at = ("sites", place.name, "region")
        yield Fault(at=at, wrong=f"nothing grows in the swamp, after {len(earlier)} fields", write="hill")


def look(share):
    for name in share.places:
        yield warning(f"{name} wants rain", share.at("sites", name, "region"), do="wait")


def meadow_fence(resource, declared):
    if not resource.inputs.get("fence"):
        yield Breach(what=f"{resource.name} of {declared.environment} has no fence", write="fence: true")


class Meadow:
    """The cloud of every field."""

    kind = KIND
    title = "Meadow"
    site_type = MeadowSite
    holds_control_plane = False
    rents = True
    control = None
    provider = ""
    picture = Picture(title="Meadow", light="#2e7d32", dark="#81c784", zones_have_ranges=True, gateway="a stile")
    checks = SimpleNamespace(faults=faults, network=lambda site: None)
    doctor = SimpleNamespace(
        services=lambda share: {"meadow.example": tuple(share.places)},
        questions=lambda share: iter([Question(name="existing", where=(share.file,), run=lambda: look(share))]),
    )
    fleet = SimpleNamespace(of_pool=lambda place, name: {})
    groups = SimpleNamespace(
        word=lambda: "herd",
        of_pool=of_pool,
        largest=lambda type_, machine_type: None,
        may_name=lambda place, pool, machine: machine.startswith(place.pool_resource(pool)),
        nobody=lambda place, pool: f"{place.pool_resource(pool)}-nobody",
    )
    held = SimpleNamespace(facts=lambda site, ranges: {"region": site.region})
    images = SimpleNamespace(
        stands_for_none=lambda site: site.image == "seed-0",
        placeholder=lambda account, *, kind: "seed-0",
        recipe=lambda site, asked, version: Recipe,
        credentials=lambda environ, *, needed: {},
        leftovers=lambda name, image, variables: [],
    )
    listing = SimpleNamespace(public_addresses=lambda place: (), left=lambda place: [])
    machine_identity = SimpleNamespace(issuer=lambda site: None, scope=lambda site: KIND)
    machine_types = SimpleNamespace(known=lambda: {"ox": MachineType(cloud=KIND, vcpus=4, memory_gib=16)})
    made = SimpleNamespace(
        makes_vpn_gateway=lambda site: True,
        charged=lambda place, remote: iter([("vpn-gateway", 1)]),
        there_already=lambda site: (),
    )
    names = SimpleNamespace(
        main=lambda place: iter([Main(what="field", name=place.cloud_name(place.name))]),
        of_site=lambda place: iter([Sized(what="a field", name=place.cloud_name(place.name), most=12)]),
        of_pool=lambda place, pool: iter(()),
        of_link=lambda place, link, end: iter(()),
    )
    node_controller = SimpleNamespace(takes_role=lambda: False, source=lambda place: {"region": place.site.region})
    policy = SimpleNamespace(
        checks=lambda: (Check(rule=INGRESS, kinds=frozenset({"meadow:index:Field"}), look=meadow_fence),),
        public=lambda place: frozenset({f"{place.environment}-{place.name}-stile"}),
    )
    prices = SimpleNamespace(published=lambda source, url: False, batches=lambda keys, asking: [])
    resources = SimpleNamespace(
        kinds=lambda: {"meadow:index:Field": Kind.NETWORK}, ranges=lambda: {"meadow:index:Field": ("acres",)}
    )
    tags = SimpleNamespace(
        fault=lambda key, value, places: ("is no flower", "a flower") if key == "weed" else None,
        most=lambda places: Most(count=5, whose="a field"),
    )
    tunnels = SimpleNamespace(ends=lambda site: ("stile",), seen=lambda place, links: [], addresses=lambda site: 1)
    user_data = SimpleNamespace(most=lambda: 4096)
