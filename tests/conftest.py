"""Settings, options and fixtures for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests.run import LANES, names
from tests.support.golden import Golden
from tests.support.shared_clusters import SharedClusters, sharers

if TYPE_CHECKING:
    from xdist.remote import Producer

    from tests.support.shared_lab import SharedLab

# No deadline: the time that an example takes on a busy machine proves nothing. The examples are the same each time, so
# that a failure on one machine is a failure on every machine.
settings.register_profile("longhaul", deadline=None, derandomize=True, database=None)
settings.load_profile("longhaul")

# A plan in a test fetches no plugin from the internet.
os.environ["LONGHAUL_OFFLINE"] = "1"

# Programs in Go that run for a moment take a tenth to a quarter of their processor time to collect garbage. The default
# is 100: the heap may double before the next collection (https://pkg.go.dev/runtime, "Environment Variables").
os.environ["GOGC"] = "400"

PARTS = {part.mark for lane in LANES for part in lane}


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Gives a file's tests to one process, all tests that share a cluster to the same, and a test in namespaces of its
    own to any."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        path = self.config.rootpath / file
        return nodeid if "run_alone(" in path.read_text(encoding="utf-8") else sharers(path) or file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling | None:
    """Replace the scheduling by file."""
    return FileScheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


@pytest.fixture(name="golden")
def _golden(request: pytest.FixtureRequest) -> Golden:
    """Function that compares a text with a golden file; with ``--update-golden`` it writes the file first."""

    def compare(name: str, text: str) -> None:
        path = request.path.parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the project."""
    return Path(__file__).parents[1]


@pytest.fixture(scope="session", name="shared_lab")
def _shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLab]:
    """The lab that some modules share, in the order of ``tests/lab/conftest.py``. A machine's inotify instances allow
    only one lab at a time, so these modules are the last of a run, and the lab ends with the run."""
    from tests.support.shared_lab import SharedLab

    lab = SharedLab(lambda: tmp_path_factory.mktemp("shared"))
    try:
        yield lab
    finally:
        lab.down()


CLUSTERS = pytest.StashKey[SharedClusters]()


@pytest.fixture(scope="session", name="shared_clusters")
def _shared_clusters(pytestconfig: pytest.Config) -> Iterator[SharedClusters]:
    """The clusters that several files share."""
    clusters = pytestconfig.stash[CLUSTERS] = SharedClusters()
    yield clusters
    clusters.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """End a shared cluster once the next test is of a file that does not share it."""
    yield
    clusters = item.config.stash.get(CLUSTERS, None)
    if clusters and nextitem and sharers(nextitem.path) != sharers(item.path):
        clusters.end()


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over tests and modules, which live until the end, and look at the rest more
    rarely: otherwise it examines hundreds of thousands of objects again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest checks first, then tests that need nothing, then those that need the engine, then whole labs. A
    mark that sends a test to a part of the run stands in the test's own file, where that part looks for it."""
    texts = {item.path: "" for item in items}
    for path in texts:
        texts[path] = path.read_text(encoding="utf-8")
    for item in items:
        for mark in PARTS.intersection(mark.name for mark in item.iter_markers()):
            if not names(texts[item.path], mark):
                raise pytest.UsageError(f"{item.path} does not name the mark {mark}, which {item.name} has")
    items.sort(key=_cost)


def _cost(item: pytest.Item) -> tuple[bool | str, ...]:
    marks = (item.get_closest_marker(name) is not None for name in ("drill", "lab", "engine"))
    # The cluster of teams stays until the end, and holds the ports of Kueue and JobSet.
    teams = "running_cluster" in getattr(item, "fixturenames", ())
    return (*marks, teams, item.path.stem != "test_lint", sharers(item.path))
