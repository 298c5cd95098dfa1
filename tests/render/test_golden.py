"""Golden copies of every machine's files. After an intended change: ``pytest tests/render --update-golden``.

The golden files have no duplicates: the first machine of each role file by file, the first of each further environment
as its difference from that one, and every other machine as its difference from the first of its environment. Files that
user-data carries stand in it by their paths.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from io import StringIO
from itertools import islice
from pathlib import Path

import pytest

from components.model.versions.section import pinned
from components.render import files, user_data
from tests.render.conftest import TOKEN, Case, NodeCase, cases, node_cases

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """Texts of one machine, by path."""

    environment: str
    role: str
    name: str
    texts: dict[str, str]


def documents(machines: Iterable[Rendered]) -> dict[str, str]:
    """Return the golden files: whole machines as ``<environment>/<machine>/…``, others as
    ``<environment>/<machine>.diff``."""
    first: dict[tuple[str, ...], Rendered] = {}
    found = {}
    for each in machines:
        machine = replace(each, texts=_by_path(each.texts))
        place = f"{machine.environment}/{machine.name}"
        whole = first.setdefault((machine.role,), machine)
        own = first.setdefault((machine.role, machine.environment), machine)
        model = whole if own is machine else own
        if model is machine:
            found |= {f"{place}/{path}": text for path, text in machine.texts.items()}
        else:
            found[f"{place}.diff"] = differences(model, machine)
    return found


def _by_path(texts: dict[str, str]) -> dict[str, str]:
    """Return the files with the path of each in the place of its content in the user-data, where that is the same to
    the byte."""
    if (told := texts.get("user-data")) is None:
        return texts
    for path, text in texts.items():
        head = rf"(?m)^  - path: /{re.escape(path)}\n    owner: .*\n    permissions: .*\n    content: \|\n"
        if (entry := re.search(head + re.escape(_block(text)), told)) is not None:
            told = told[: entry.end() - len(_block(text))] + f"      [{path}]\n" + told[entry.end() :]
    return {**texts, "user-data": told}


def _block(text: str) -> str:
    return "".join(f"      {line}" if line.strip("\n") else line for line in StringIO(text))


def differences(whole: Rendered, other: Rendered) -> str:
    """Return a unified diff, which ``patch`` takes. It makes every byte of the other machine from the whole one."""
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


@pytest.fixture(name="machines", scope="module")
def _machines() -> list[Rendered]:
    return [_timeless(one) for one in (*map(control_machine, cases()), *map(node, node_cases()))]


def _timeless(machine: Rendered) -> Rendered:
    """Return the machine without its token and the version of Kubernetes, which is written in ``tools.toml`` alone."""
    names = {TOKEN: "[token]", pinned("kubernetes"): "[kubernetes]"}
    texts = dict(machine.texts)
    for found, name in names.items():
        texts = {path: text.replace(found, name) for path, text in texts.items()}
    return replace(machine, texts=texts)


def control_machine(case: Case) -> Rendered:
    """Return every file by its path below the machine's folder, and the user-data that carries them."""
    found = files(case.environment, case.addresses, case.machine)
    texts = {path.removeprefix("/"): file.content for path, file in found.items()}
    return Rendered(
        environment=case.environment.name,
        role=case.machine.role,
        name=case.machine.name,
        texts=texts | {"user-data": user_data(case.environment, case.addresses, case.machine)},
    )


def node(case: NodeCase) -> Rendered:
    """Return the files and the user-data of a pool's machines or of a host."""
    texts = {path.removeprefix("/"): file.content for path, file in case.files().items()}
    user_data = case.user_data()
    texts |= {"user-data": user_data} if user_data is not None else {}
    return Rendered(
        environment=case.environment.name,
        role="pool" if case.pool is not None else "host",
        name=case.name,
        texts=texts,
    )


def test_every_file_of_every_machine_is_as_it_was(machines: list[Rendered], request: pytest.FixtureRequest) -> None:
    wanted = documents(machines)
    if request.config.getoption("--update-golden", default=False):
        _write(wanted)
    assert {str(path.relative_to(GOLDEN)): path.read_bytes().decode() for path in _held()} == wanted


def test_each_machine_has_a_name_of_its_own(machines: list[Rendered]) -> None:
    """A second machine with the same name would silently replace the first one's files."""
    assert len({(machine.environment, machine.name) for machine in machines}) == len(machines)


def test_any_byte_of_any_file_tells(machines: list[Rendered]) -> None:
    for machine in machines:
        whole = next(one for one in machines if (one.environment, one.role) == (machine.environment, machine.role))
        others = [] if whole is machine else [whole]
        told = documents([*others, machine])
        for texts in _changed(machine.texts):
            assert documents([*others, replace(machine, texts=texts)]) != told, machine.name


def test_a_machine_more_or_fewer_tells(machines: list[Rendered]) -> None:
    told = documents(machines)
    for position, machine in enumerate(machines):
        assert documents([*machines, replace(machine, name=f"{machine.name}-new")]) != told
        assert documents(machines[:position] + machines[position + 1 :]) != told, machine.name


def _changed(texts: dict[str, str]) -> Iterator[dict[str, str]]:
    for path, text in texts.items():
        middle = len(text) // 2
        yield texts | {path: "~" + text[1:]}
        yield texts | {path: text[:middle] + "~" + text[middle + 1 :]}
        yield texts | {path: text[:-1]}
        yield texts | {path: f"{text}~"}
        yield texts | {path: f"{text}\n"}
        yield texts | {path: text.replace("\n", "\r\n", 1)}
        yield texts | {path: ""}
        yield {kept: texts[kept] for kept in texts if kept != path}
    yield texts | {"new": ""}


def _held() -> set[Path]:
    """Return all golden files, except those of test_controller."""
    return {path for path in GOLDEN.rglob("*") if path.is_file()} - set(GOLDEN.glob("*/environment.json"))


def _write(documents: dict[str, str]) -> None:
    for path in GOLDEN.glob("*/*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix == ".diff":
            path.unlink()
    for path, text in documents.items():
        (GOLDEN / path).parent.mkdir(parents=True, exist_ok=True)
        (GOLDEN / path).write_text(text)
