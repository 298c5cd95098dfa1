"""Golden files that say a thing once: each role's first machine file by file, every other as what differs from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from io import StringIO
from itertools import islice


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """One machine's texts, by their path."""

    environment: str
    role: str
    name: str
    texts: dict[str, str]


def documents(machines: Iterable[Rendered]) -> dict[str, str]:
    """Golden files: whole machines as ``<environment>/<machine>/…``, others as ``<environment>/<machine>.diff``."""
    wholes: dict[tuple[str, str], Rendered] = {}
    found = {}
    for machine in machines:
        place = f"{machine.environment}/{machine.name}"
        whole = wholes.setdefault((machine.environment, machine.role), machine)
        if whole is machine:
            found |= {f"{place}/{path}": text for path, text in machine.texts.items()}
        else:
            found[f"{place}.diff"] = differences(whole, machine)
    return found


def differences(whole: Rendered, other: Rendered) -> str:
    """A unified diff, which ``patch`` takes: with the whole machine it gives every byte of the other."""
    changed = [path for path in whole.texts | other.texts if whole.texts.get(path) != other.texts.get(path)]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for path in changed
        for line in _of_file(whole, other, path)
    )


def _of_file(whole: Rendered, other: Rendered, path: str) -> Iterable[str]:
    before, after = (machine.texts.get(path) for machine in (whole, other))
    yield f"--- {whole.name}/{path}\n" if before is not None else "--- /dev/null\n"
    yield f"+++ {other.name}/{path}\n" if after is not None else "+++ /dev/null\n"
    yield from islice(unified_diff(list(StringIO(before)), list(StringIO(after)), n=0), 2, None)
