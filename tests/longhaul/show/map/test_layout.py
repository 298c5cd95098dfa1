"""Nothing on the map overlaps anything else, whatever the environment's size."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from components.model import Environment
from longhaul.show.map.drawing import svg
from tests.longhaul.show.map import worlds
from tests.longhaul.show.map.picture import Box, Picture, Route

SIZES = {
    "one": worlds.one,
    "three": worlds.three,
    "five": worlds.five,
    "six": worlds.six,
    "named-at-length": worlds.named_at_length,
    "longest": worlds.longest,
    "eleven": lambda: worlds.hosts_only_beside(10),
}
APART = 8
"""Minimum distance of two parallel lines, in pixels."""


@pytest.fixture(name="picture", params=SIZES)
def _picture(request: pytest.FixtureRequest) -> Picture:
    make: Callable[[], Environment] = SIZES[request.param]
    return Picture(svg(make()))


def test_no_two_cards_overlap_and_each_is_in_its_group(picture: Picture) -> None:
    boxes = [card.box for card in picture.cards]
    assert not [pair for pair in combinations(boxes, 2) if pair[0].meets(pair[1])]
    assert not [pair for pair in combinations(picture.groups, 2) if pair[0].meets(pair[1])]
    for box in boxes:
        assert sum(group.holds(box) for group in picture.groups) == 1
    assert all(picture.page.holds(group) for group in picture.groups)


def test_every_text_is_on_the_page_and_a_cards_texts_in_the_card(picture: Picture) -> None:
    assert picture.texts
    assert [text for text in picture.texts if not picture.page.holds(text.box)] == []
    for card in picture.cards:
        assert [text for text in card.texts if not card.box.holds(text.box)] == []


def test_no_two_texts_overlap(picture: Picture) -> None:
    assert [(a.words, b.words) for a, b in combinations(picture.texts, 2) if a.box.meets(b.box)] == []


def test_a_link_begins_and_ends_at_the_cards_it_names(picture: Picture) -> None:
    cards = {card.title.removeprefix("Site ").split(":")[0]: card.box for card in picture.cards}
    for route in picture.routes:
        first, second = route.title.split(":")[0].split(" to ")
        for name, x, y in ((first, route.x1, route.y1), (second, route.x2, route.y2)):
            assert cards[name].left < x < cards[name].right
            assert y == pytest.approx(cards[name].bottom if route.track > y else cards[name].top, abs=0.11)


def test_no_two_links_share_a_stretch(picture: Picture) -> None:
    for one, other in combinations(picture.routes, 2):
        for x, top, bottom in one.uprights():
            for x2, top2, bottom2 in other.uprights():
                assert abs(x - x2) >= APART or top > bottom2 or top2 > bottom, (one.title, other.title)
        if abs(one.track - other.track) < APART:
            assert one.across[1] + APART <= other.across[0] or other.across[1] + APART <= one.across[0]


def test_links_pass_through_nothing_but_the_space_between(picture: Picture) -> None:
    for route in picture.routes:
        low, high = route.across
        for card in picture.cards:
            assert not _behind(route, card.box)
        for group in picture.groups:
            assert not (group.top <= route.track <= group.bottom and low < group.right and high > group.left)
        for name in picture.group_names:
            assert not _behind(route, name.box)


def _behind(route: Route, box: Box) -> list[float]:
    """Return the x of each vertical part of a link that passes behind a box."""
    return [x for x, top, bottom in route.uprights() if Box(left=x, right=x, top=top, bottom=bottom).meets(box)]


def test_labels_lie_on_their_links_and_on_nothing_else(picture: Picture) -> None:
    assert len(picture.labels) == len(picture.routes)
    assert not [pair for pair in combinations(picture.labels, 2) if pair[0].box.meets(pair[1].box)]
    for label, route in zip(picture.labels, picture.routes, strict=True):
        assert label.box.top < route.track < label.box.bottom
        assert label.box.left < route.across[1]
        assert label.box.right > route.across[0]
        assert picture.page.holds(label.box)
        assert not [group for group in picture.groups if group.meets(label.box)]


@pytest.mark.parametrize("make", [worlds.three, worlds.five, worlds.six])
def test_no_link_runs_behind_anothers_label(make: Callable[[], Environment]) -> None:
    picture = Picture(svg(make()))
    for label, own in zip(picture.labels, picture.routes, strict=True):
        for other in picture.routes:
            if other is not own:
                assert not _behind(other, label.box), (label.words, other.title)
