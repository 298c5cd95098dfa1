"""Parses node pools, and their machine types that are not built in. Errors are ``ValueError``, as in ``parsing.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from longhaul.init.answers import PoolAnswer
from longhaul.init.parsing import machines, of_field

if TYPE_CHECKING:
    from clouds.base.machine_types import MachineProperties
    from clouds.base.pool_section import Reservation

SPOT = "spot"
_KEYS = ("min", "zones", "reservation", "capacity-block")
_RESERVED = ("reservation", "capacity-block")


def pool(text: str, *, declared: Mapping[str, MachineProperties]) -> PoolAnswer:
    """Parse ``SITE TYPE MAX [NAME] [spot] [min=N] [zones=a,b] [reservation=ID | capacity-block=ID]``. ``declared`` are
    machine types beside the built-in ones."""
    from clouds.base.phrases import suggestion
    from clouds.base.pool_section import Pool as Declared
    from components.model.pools.machine_types import known_machine_types

    more = [word for word in text.split() if word == SPOT or "=" in word]
    words = [word for word in text.split() if word not in more]
    if len(words) not in (3, 4):
        raise ValueError(
            f"{text!r} is not a site, a machine type, a maximum number of machines and, optionally, a name"
        )
    site, type_, most, *called = words
    types = {**known_machine_types(), **declared}
    if type_ not in types:
        raise ValueError(
            f"{type_!r} is not a machine type that Longhaul knows: {suggestion(types, type_)}, or one that "
            "--machine-type declares"
        )
    keys = _keys([word for word in more if word != SPOT], _KEYS)
    most_machines = machines(most)
    return PoolAnswer(
        site=of_field(Declared, "site", site),
        machine_type=type_,
        max=most_machines,
        gpus=types[type_].gpus,
        name=of_field(Declared, "site", called[0]) if called else "",
        min=_least(keys["min"], most_machines) if "min" in keys else None,
        spot=SPOT in more,
        zones=tuple(keys["zones"].split(",")) if "zones" in keys else (),
        reservation=_reservation(keys, spot=SPOT in more),
    )


def _keys(words: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Return the words ``KEY=VALUE`` as a mapping."""
    from clouds.base.phrases import suggestion

    pairs: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in known:
            raise ValueError(f"{word!r}: {key!r} is no key: {suggestion(list(known), key)}")
        if key in pairs or not value:
            raise ValueError(f"{word!r} is given twice" if key in pairs else f"{word!r} has no value")
        pairs[key] = value
    return pairs


def _least(text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > most:
        raise ValueError(f"min={text} is not a number of machines, 0 to {most}")
    return int(text)


def _reservation(keys: Mapping[str, str], *, spot: bool) -> Reservation | None:
    from clouds.base.pool_section import Reservation as Declared

    named = [key for key in _RESERVED if key in keys]
    if not named:
        return None
    if spot or len(named) > 1:
        raise ValueError(f"{' and '.join([*named, *([SPOT] if spot else [])])} exclude each other: leave one out")
    text = of_field(Declared, "id", keys[named[0]])
    return Declared(id=text, kind="capacity-block") if named[0] == "capacity-block" else Declared(id=text)


def machine_type(text: str) -> tuple[str, MachineProperties]:
    """Parse ``TYPE CLOUD vcpus=N memory_gib=N [gpus=N] [gpu_model=WORD] [local_ssd_gb=N] ...``, with the keys of
    ``machine_types`` in the environment file."""
    from components.model.loading.validate import validate
    from components.model.pools.machine_types import MachineType as Declared
    from components.model.pools.machine_types import known_machine_types

    words = text.split()
    if len(words) < 2 or "=" in words[1]:
        raise ValueError(f"{text!r} is not a machine type, its cloud, and vcpus=N memory_gib=N and what else it has")
    name, cloud, *more = words
    if name in known_machine_types():
        raise ValueError(f"{name} is built in: leave it out")
    keys = _keys(more, [key for key in Declared.model_fields if key != "cloud"])
    numbers = {key: int(value) if value.isascii() and value.isdigit() else value for key, value in keys.items()}
    read = validate(Declared, {"cloud": cloud, **numbers})
    if read.findings or read.value is None:
        wrong = [f"{fault.key} {fault.wrong}: write {fault.write}" for fault in read.findings]
        raise ValueError(f"{name}: {'; '.join(wrong)}")
    return name, read.value
