"""The shared lab's own logic, without a lab: when it is made, made anew and removed, and the order of its users."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.lab import conftest
from tests.support import shared_lab
from tests.support.project import Project
from tests.support.shared_lab import SharedLab


@dataclass
class Events:
    """Events of labs, each with the lab's number."""

    said: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Events that fail, in order."""
    projects: int = 0

    def note(self, event: str) -> None:
        self.said.append(event)
        if self.broken and self.broken[0] == event:
            self.broken.pop(0)
            raise AssertionError(event)

    def make(self, _path: Path, raw: dict[str, Any]) -> Any:
        """Make a stand-in for a project."""
        assert raw["name"] == shared_lab.ENV
        self.projects += 1
        number = self.projects
        return SimpleNamespace(
            number=number,
            up=lambda: self.note(f"up {number}"),
            lab=lambda verb, *_arguments, check: self.note(f"{verb} {number}"),
        )


@pytest.fixture(name="events")
def _events(monkeypatch: pytest.MonkeyPatch) -> Events:
    events = Events()
    monkeypatch.setattr(Project, "make", events.make)
    monkeypatch.setattr(shared_lab, "add_hosts", lambda _project, *_names: None)
    monkeypatch.setattr(shared_lab, "settle", lambda project: events.note(f"settle {project.number}"))
    return events


@pytest.fixture(name="lab")
def _lab(events: Events, tmp_path: Path) -> SharedLab:
    assert events.projects == 0
    return SharedLab(lambda: tmp_path)


def test_it_is_made_once_and_put_right_for_each(lab: SharedLab, events: Events) -> None:
    assert lab.take() is lab.take()
    lab.down()
    lab.down()
    assert events.said == ["up 1", "settle 1", "settle 1", "down 1"]


def test_who_must_be_there_first_gets_what_is_then_made(lab: SharedLab, events: Events) -> None:
    project = lab.fresh()
    assert events.said == []
    assert lab.take() is lab.project is project
    assert lab.fresh() is not project
    assert events.said == ["up 1", "settle 1", "down 1"]


def test_one_that_does_not_come_right_is_made_anew(lab: SharedLab, events: Events) -> None:
    lab.take()
    events.broken = ["settle 1"]
    with pytest.warns(UserWarning, match="made anew: settle 1"):
        lab.take()
    assert events.said == ["up 1", "settle 1", "settle 1", "down 1", "up 2", "settle 2"]


def test_one_whose_making_failed_is_tried_no_longer_than_it_takes_to_look(lab: SharedLab, events: Events) -> None:
    events.broken = ["up 1", "settle 1"]
    with pytest.raises(AssertionError, match="up 1"):
        lab.take()
    with pytest.warns(UserWarning, match="made anew"):
        lab.take()
    assert events.said == ["up 1", "settle 1", "down 1", "up 2", "settle 2"]


def test_a_new_one_that_is_not_right_is_an_error(lab: SharedLab, events: Events) -> None:
    events.broken = ["settle 1"]
    with pytest.raises(AssertionError, match="settle 1"):
        lab.take()


@pytest.mark.filterwarnings("ignore:the shared lab is made anew")
def test_one_that_cannot_be_made_is_not_tried_for_ever(lab: SharedLab, events: Events) -> None:
    events.broken = ["up 1", "settle 1", "up 2", "settle 2"]
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"up \d"):
            lab.take()
    with pytest.raises(AssertionError, match="could not be made 2 times"):
        lab.take()
    assert events.said == ["up 1", "settle 1", "down 1", "up 2", "settle 2"]


def _item(module: str, *fixtures: str) -> Any:
    """Return a stand-in for a test with the attributes that determine its place."""
    return SimpleNamespace(path=Path(f"{module}.py"), fixturenames=fixtures)


def test_sharers_come_last_and_one_after_the_other() -> None:
    others = [_item("test_two"), _item("test_hybrid", "project")]
    sharers = [_item(name, "project", "shared_lab") for name in conftest.SHARERS]
    items = [sharers[2], others[0], *reversed(sharers), others[1]]
    conftest.pytest_collection_modifyitems(items)
    assert items[:2] == others
    assert list(dict.fromkeys(item.path.stem for item in items[2:])) == list(conftest.SHARERS)


def test_who_has_no_place_is_told() -> None:
    with pytest.raises(pytest.UsageError, match=r"test_new.py .* SHARERS"):
        conftest.pytest_collection_modifyitems([_item("test_new", "shared_lab")])


def test_every_place_is_somebody_s(root: Path) -> None:
    files = [*(root / "tests" / "lab").glob("test_*.py"), *(root / "tests" / "redteam").glob("test_*.py")]
    found = [path.stem for path in files if "SharedLab" in path.read_text(encoding="utf-8")]
    assert [name for name in conftest.SHARERS if found.count(name) != 1] == []
