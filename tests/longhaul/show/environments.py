"""Environments to show, by name, from one site to the largest."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from components.model import Environment, load
from components.model.versions.section import Versions
from longhaul.cli.examples import example
from tests.longhaul.show.large import write_large
from tests.model import make
from tests.model.files import write

NAMES = ("one-site", "hybrid", "every-key", "prod", "large")


@cache
def environment(name: str) -> Environment:
    """Return the environment called ``name`` with fixed versions: the output must not change with the pinned ones."""
    with tempfile.TemporaryDirectory() as folder:
        found = _load(name, Path(folder))
    return found.model_copy(update={"versions": Versions(kubernetes="1.2.3", etcd="4.5.6")})


def _load(name: str, folder: Path) -> Environment:
    if name in ("hybrid", "prod"):
        return example(name)
    if name == "large":
        return load(write_large(folder))
    if name == "every-key":
        return load(write(folder, make.full(), hosts=make.hosts()))
    return make.environment()
