"""The map shows what the environment declares, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from clouds.base.phrases import counted
from clouds.registry import clouds
from components.model import Environment, plan
from components.model.network.links import LinkKind, links, tunnels
from longhaul.show.map.drawing import html, svg
from longhaul.show.map.style import inks
from tests.longhaul.show.map import worlds
from tests.longhaul.show.map.picture import Card, Picture
from tests.model import make
from tests.support.golden import Golden
from tests.support.production import production, production_program


def drawn(environment: Environment) -> Picture:
    return Picture(svg(environment))


def card(picture: Picture, site: str) -> Card:
    (found,) = (card for card in picture.cards if card.title.startswith(f"Site {site}:"))
    return found


@pytest.mark.parametrize("world", [worlds.one, worlds.three, worlds.five, worlds.six])
def test_every_site_pool_and_link_is_there(world: Callable[[], Environment]) -> None:
    environment = world()
    picture, addresses = drawn(environment), plan(environment)
    assert len(picture.cards) == len(environment.sites)
    for name, site in addresses.sites.items():
        words = card(picture, name).words
        assert words[:2] == [name, str(site.block)]
        assert {str(site.infra), str(site.nodes), str(site.pods)} <= set(words)
    for name, pool in environment.pools.items():
        words = card(picture, pool.site).words
        below = words[words.index(name) + 1 :]
        assert pool.machine_type in below[:4]
        assert f"{pool.max:,}" in below[0].split() + below[1].split()
        assert ("spot" in below[:2]) == pool.spot
    assert [(route.title.split(":")[0], route.kind) for route in picture.routes] == [
        (f"{link.first} to {link.second}", link.kind) for link in links(environment)
    ]


def test_the_control_plane_is_on_its_sites_card() -> None:
    words = card(drawn(worlds.five()), "weu").words
    assert words[words.index("CONTROL PLANE") :][:15] == [
        *("CONTROL PLANE", "api.prod.longhaul.internal:6443", "10.0.3.5"),
        *("API servers", "5 × Standard_D32s_v5", "10.0.3.0/24", "32 cores, 128 GiB"),
        *("etcd", "5 × Standard_L16s_v3", "10.0.1.0/24", "16 cores, 128 GiB"),
        *("etcd for events", "5 × Standard_L8s_v3", "10.0.2.0/24", "8 cores, 64 GiB"),
    ]


def test_the_learner_laptops_and_the_gateway_are_as_the_plan_says() -> None:
    raw = make.minimal()
    raw["sites"] |= {"use1": make.AWS}
    raw["vpn"] = {"machine_type": "Standard_D2s_v5"}
    raw["control_plane"]["etcd"]["learner"] = {"zone": "1", "machine_type": "Standard_D8s_v5"}
    environment = make.environment(raw)
    picture = drawn(environment)
    words = card(picture, "weu").words
    assert words[words.index("etcd's learner") + 1] == "1 × Standard_D8s_v5"
    assert "one active instance, one in standby" in words
    everything = [text.words for text in picture.texts]
    assert {"laptops", str(plan(environment).laptops)} <= set(everything)


def test_racks_have_gateways_hosts_and_gpus() -> None:
    words = card(drawn(worlds.six()), "colo").words
    assert words[words.index("2 GATEWAYS") :] == [
        *("2 GATEWAYS", "13 IPsec tunnels"),
        *("test-gw-0", "203.0.113.10", "inside 10.8.0.10", "public"),
        *("test-gw-1", "203.0.113.11", "inside 10.8.0.11", "public"),
        *("RACKS", "1,024 hosts, 8,000 GPUs"),
        *("600 hosts", "8 × H100 each", "400 hosts", "8 GPUs each", "24 hosts", "no GPUs"),
        *("from r0000", "10.8.128.10", "to r1023", "10.8.132.9"),
    ]


def test_figures_are_sums() -> None:
    words = [text.words for text in drawn(worlds.five()).texts]
    for number, label in (("5", "sites"), ("15", "control-plane machines"), ("9", "pools"), ("5,180", "GPUs at most")):
        assert words[words.index(label) - 1] == number


def test_a_single_site_has_no_links_and_no_legend() -> None:
    picture = drawn(worlds.one())
    assert picture.routes == []
    assert not {"LINKS", "GATEWAY"} & {text.words for text in picture.texts}


def test_the_legend_has_the_kinds_that_are_there() -> None:
    words = [text.words for text in drawn(worlds.six()).texts]
    assert words[words.index("LINKS") + 1 :] == ["IPsec tunnels", "a cloud's backbone", "an existing circuit"]


def test_tunnels_are_as_many_as_the_program_makes() -> None:
    """Counted on the racks' gateways, and in Azure towards AWS."""
    environment = production()
    planned = [link for link in links(environment) if link.kind is LinkKind.IPSEC]
    made = Counter(
        tunnel["remote_site"] for held in production_program().outputs["tunnels"].values() for tunnel in held
    )
    assert made == {link.first: tunnels(environment, link) for link in planned if link.second == "colo"}
    connections = production_program().of("azure-native:network:VirtualNetworkGatewayConnection")
    to_aws = [connection for connection in connections if "-colo-" not in connection.name]
    assert len(to_aws) == sum(tunnels(environment, link) for link in planned if link.second != "colo")


def test_racks_tunnel_from_each_gateway_to_each() -> None:
    raw = make.minimal()
    raw["sites"] |= {
        name: {"kind": "onprem", "gateways": [{"name": f"{name}{n}", "public_address": f"203.0.113.{n}"} for n in many]}
        for name, many in {"here": (1, 2), "there": (3, 4), "lone": (5,)}.items()
    }
    titles = [route.title for route in drawn(make.environment(raw)).routes]
    azure = ["1 tunnel; at most 1.25 Gbit/s of one tunnel of VpnGw2AZ (Azure's benchmark)"] * 3
    notes = [title.partition(", ")[2] for title in titles]
    assert notes == [*azure, *(counted(count, "tunnel") for count in (4, 2, 2))]


def test_texts_of_the_environment_are_texts() -> None:
    environment = worlds.longest()
    picture = drawn(environment)
    (odd,) = environment.machine_types
    readable = odd.replace("\x07", "\N{REPLACEMENT CHARACTER}")
    assert readable in picture.titles()
    (shown,) = (text.words for text in picture.texts if text.words.startswith("<b>"))
    assert readable.startswith(shown.removesuffix("…"))
    assert set(environment.sites) <= set(picture.titles())
    assert "<b>" not in html(environment)


def test_the_page_is_well_formed_and_needs_nothing_else() -> None:
    page = html(worlds.five())
    parser = _Tags()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert not parser.seen & {"script", "img", "link", "iframe", "object", "use", "image", "foreignobject"}
    assert re.findall(r"https?://\S+", page) == ['http://www.w3.org/2000/svg"']
    assert not re.search(r"url\(|@import|\bon\w+=|javascript:", page)


class _Tags(HTMLParser):
    """Records the open elements, and the kinds of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_it_is_told_to_who_hears_it() -> None:
    root = drawn(worlds.five()).root
    names = {element.get("id"): element.text for element in root if element.get("id")}
    assert names[root.attrib["aria-labelledby"]] == "Map of prod"
    assert "1 × Azure, 3 × AWS and 1 × Own racks" in (names[root.attrib["aria-describedby"]] or "")


GROUNDS = {
    "ink": ("page", "card", "panel"),
    "soft": ("page", "card", "panel"),
    "spot": ("card",),
    **dict.fromkeys(clouds(), ("group",)),
}
"""Backgrounds of each colour of text."""


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", GROUNDS)
def test_texts_stand_out_from_their_ground(text: str, scheme: int) -> None:
    """WCAG 2.2, 1.4.3: contrast of text."""
    for ground in GROUNDS[text]:
        dark, light = sorted(luminance(inks()[name][scheme]) for name in (text, ground))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, ground


def luminance(colour: str) -> float:
    """Return the "relative luminance" of WCAG 2.2."""
    channels = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_picture_is_as_it_was(golden: Golden) -> None:
    """After an intended change: ``pytest tests/longhaul/show/map --update-golden``."""
    golden("three.svg", svg(worlds.three()))


ELSEWHERE = """\
import hashlib, sys
from tests.longhaul.show.map import worlds
from longhaul.show.map.drawing import html
print(hashlib.sha256(html(worlds.six()).encode()).hexdigest())
print(*sorted({name.split(".")[0] for name in sys.modules} & {"pulumi", "boto3", "azure", "aiohttp", "ansible"}))
"""


def test_it_is_the_same_everywhere_and_loads_no_engine(root: Path) -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", ELSEWHERE],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    (only,) = said
    assert only.splitlines()[1:] == [""]
