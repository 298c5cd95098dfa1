"""Loading of a cloud's aspects when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING


class Aspects:
    """Base of a cloud's class. Each attribute that the class has not is the module of that name beside its own: the
    class imports them for the type checker alone, which holds them against :class:`~clouds.base.cloud.Cloud`."""

    # A type checker that saw this would take any name for an aspect.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> ModuleType:
            path = f"{type(self).__module__.rpartition('.')[0]}.{name}"
            if name.startswith("_") or find_spec(path) is None:
                raise AttributeError(f"{type(self).__name__} has no aspect {name!r}", name=name, obj=self)
            module = import_module(path)
            setattr(self, name, module)
            return module
