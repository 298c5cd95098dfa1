"""Loads modules by path: those that Ansible finds in folders and roles send to machines are in no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def module_at(path: Path) -> Any:
    """Return the module, under a name of its own for each path."""
    name = f"tests.at.{path.parent.parent.name}.{path.parent.name}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks up its module.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
