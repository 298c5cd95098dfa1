"""Reads environments: from a stack file and a hosts file to one frozen :class:`Environment` or one report."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from clouds.base.faults import Fault, Location
from clouds.base.section import FILE_NAME, Range
from components.model.environment import FORMAT, Environment
from components.model.hosts.section import Hosts
from components.model.loading.cautions import cautions
from components.model.loading.checks import check
from components.model.loading.document import Document, read_document
from components.model.loading.errors import ConfigurationError, Problem
from components.model.loading.schema import CONFIG_KEY
from components.model.loading.validate import Validated, validate
from components.model.network.free_range import free
from components.model.network.neighbour_gateways import ClaimedAddress, claimed_addresses, shared
from contract.project import OBJECTS

Raw = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Source:
    """A file to which findings refer."""

    path: Path
    document: Document | None = None
    top: Location = ()
    """Location in the document of the part to which findings refer."""

    def problem(self, finding: Fault) -> Problem:
        line = None if self.document is None else self.document.line((*self.top, *finding.at))
        return Problem(file=str(self.path), line=line, key=finding.key, wrong=finding.wrong, write=finding.write)


@dataclass(frozen=True, kw_only=True)
class _Loaded:
    """A checked environment and its files."""

    environment: Environment
    source: _Source
    hosts_source: _Source

    def source_of(self, finding: Fault) -> _Source:
        return self.hosts_source if finding.at[0] == "hosts" else self.source

    def problem(self, finding: Fault) -> Problem:
        return self.source_of(finding).problem(finding)

    def warnings(self, broken: frozenset[Location] = frozenset()) -> list[Problem]:
        """Return the cautions that do not depend on anything that is ``broken``."""
        return [self.problem(caution) for caution in cautions(self.environment) if caution.holds(broken)]


@dataclass(frozen=True, kw_only=True)
class Examined:
    """A valid environment, and the cautions about its file."""

    environment: Environment
    warnings: tuple[Problem, ...]
    problem: Callable[[Fault], Problem]
    """Function that adds file and line to a fault of the environment."""


def stack_name(path: Path) -> str:
    """Return the name of the stack that a file called ``Pulumi.<stack>.yaml`` configures."""
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml")


def environment_files(directory: Path) -> list[Path]:
    """Return the stack files in ``directory`` that hold an environment. Files of second stacks, which only name an
    environment, are left out."""
    return [path for path in sorted(directory.glob("Pulumi.*.yaml")) if not stack_name(path).endswith(OBJECTS)]


def load(path: Path) -> Environment:
    """Read the environment of one stack file; raise ``ConfigurationError`` with every fault."""
    return _load(path).environment


def examine(path: Path) -> Examined:
    """Read the environment of one stack file, with the cautions about it; raise ``ConfigurationError`` with every
    fault."""
    loaded = _load(path)
    warnings = tuple(_in_order(loaded.warnings()))
    return Examined(environment=loaded.environment, warnings=warnings, problem=loaded.problem)


def load_copy(path: Path) -> Environment:
    """Read the environment of a copy of a stack file. The copy may have any file name: the ``name`` in it is used as
    the stack's. Its hosts file lies beside the copy. Raise ``ConfigurationError`` with every fault."""
    document = read_document(path)
    raw = _section(document, path)
    source = _Source(path=path, document=document, top=("config", CONFIG_KEY))
    return _parse(raw, source=source, stack=str(raw.get("name", stack_name(path)))).environment


def parse(raw: Raw, *, source: Path, stack: str) -> Environment:
    """Check ``raw``, the value of ``longhaul:environment`` in the file ``source``, and the hosts file that it names.
    Raise ``ConfigurationError`` with every fault."""
    return _parse(raw, source=_Source(path=source), stack=stack).environment


def load_directory(directory: Path) -> dict[str, Environment]:
    """Read every environment in ``directory``, by name. Raise ``ConfigurationError`` with one report for all files,
    which includes environments that overlap or share a gateway."""
    return {name: examined.environment for name, examined in examine_directory(directory).items()}


def examine_directory(directory: Path) -> dict[str, Examined]:
    """Read every environment in ``directory`` like :func:`load_directory`, with the cautions about each file."""
    environments: dict[str, Examined] = {}
    claims: dict[Path, _Claim] = {}
    problems: list[Problem] = []
    warnings: list[Problem] = []
    for path in environment_files(directory):
        try:
            environments[stack_name(path)] = examine(path)
        except ConfigurationError as error:
            problems += error.problems
            warnings += error.warnings
        claim = _claim(path)
        if claim is not None:
            claims[path] = claim
    offers: dict[Path, Range | None] = {}
    for first, second in combinations(claims.values(), 2):
        problems += [*_shared(second, first), *_same_domain(second, first)]
        if not second.supernet.overlaps(first.supernet):
            continue
        if second.path not in offers:
            given = [offer for offer in offers.values() if offer is not None]
            offers[second.path] = second.offer([*(claim.supernet for claim in claims.values()), *given])
        problems.append(_overlap(second, first, offer=offers[second.path]))
    if problems:
        raise ConfigurationError(problems, warnings=warnings)
    return environments


def check_neighbours(environment: Environment, *, source: Path) -> None:
    """Raise ``ConfigurationError`` when ``environment``, read from ``source``, overlaps another environment in the same
    folder, or shares a gateway's address with it. Other errors of those files are not reported here."""
    others = _claims(source.parent, but=source)
    if not others:
        return
    claim = _claim(source) or _Claim(path=source, name=environment.name, supernet=environment.supernet)
    # Uses the environment as it was read: a file that is only about to be written does not exist yet, or has other
    # content.
    gateways = claimed_addresses(environment.model_dump(mode="json", include={"sites"}))
    claim = replace(
        claim, name=environment.name, supernet=environment.supernet, domain=environment.domain, gateways=gateways
    )
    overlapping = [other for other in others if claim.supernet.overlaps(other.supernet)]
    offer = claim.offer([other.supernet for other in others]) if overlapping else None
    problems = [_overlap(claim, other, offer=offer) for other in overlapping]
    for other in others:
        problems += [*_shared(claim, other), *_same_domain(claim, other)]
    if problems:
        raise ConfigurationError(_in_order(problems))


def not_compared(source: Path) -> tuple[Problem, ...]:
    """Return a caution for each other file in the folder of ``source`` whose supernet cannot be read, so that the two
    cannot be compared."""
    unread = (path for path in environment_files(source.parent) if path != source and _claim(path) is None)
    wrong = f"{source.name} was not compared with this file: no supernet can be read in it"
    write = "what `longhaul validate` without --env reports about it, or move it out of the folder"
    return tuple(Problem(file=str(path), key="", wrong=wrong, write=write) for path in unread)


def taken_ranges(directory: Path, *, but: Path) -> dict[Range, str]:
    """Return the ranges that a new environment in ``directory`` must not have, each with its owner: the supernets of
    the environments that can be read, and what they list as ``used``. The file ``but`` is left out."""
    claims = _claims(directory, but=but)
    used = {range_: f"something else of yours (`used` in {claim.path})" for claim in claims for range_ in claim.used}
    return used | {claim.supernet: f"{claim.name}, {claim.place}" for claim in claims}


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """The supernet, the domain and the gateways' addresses that an environment's file claims, and the ranges that it
    says are in use."""

    path: Path
    name: str
    supernet: Range
    used: tuple[Range, ...] = ()
    domain: str = ""
    line: int | None = None
    gateways: tuple[ClaimedAddress, ...] = ()
    document: Document | None = None

    def offer(self, taken: Collection[Range]) -> Range | None:
        """Return a range of the same size that overlaps none of ``taken``; ``None`` when there is none."""
        return free(taken, prefix=self.supernet.prefixlen)

    @property
    def place(self) -> str:
        """Return the file of the claim, with the line when it is known."""
        return str(self.path) if self.line is None else f"{self.path}:{self.line}"

    def line_of(self, at: Location) -> int | None:
        """Return the line of a value of the environment."""
        return self.document.line(("config", CONFIG_KEY, *at)) if self.document is not None else None


def _claims(directory: Path, *, but: Path) -> list[_Claim]:
    claims = (_claim(path) for path in environment_files(directory) if path != but)
    return [claim for claim in claims if claim is not None]


def _claim(path: Path) -> _Claim | None:
    """Return the claim of the file ``path``; ``None`` when it cannot be read. The rest of the file may be invalid."""
    try:
        document = read_document(path)
        raw = _section(document, path)
        supernet = TypeAdapter[Range](Range).validate_python(raw.get("supernet"))
    except (ConfigurationError, ValidationError):
        return None
    line = document.line(("config", CONFIG_KEY, "supernet"))
    return _Claim(
        path=path,
        name=stack_name(path),
        supernet=supernet,
        used=tuple(_ranges(raw.get("used"))),
        domain=str(raw.get("domain", "")),
        line=line,
        gateways=claimed_addresses(raw),
        document=document,
    )


def _ranges(values: object) -> Iterator[Range]:
    """Yield the ranges in a list that may hold anything."""
    for value in values if isinstance(values, list) else ():
        with suppress(ValidationError):
            yield TypeAdapter[Range](Range).validate_python(value)


def _overlap(claim: _Claim, other: _Claim, *, offer: Range | None) -> Problem:
    wrong = f"{claim.supernet} of {claim.name} overlaps {other.supernet} of {other.name}, {other.place}"
    such = "" if offer is None else f", such as {offer}"
    write = f"in one of the two, a range that no other environment has{such}"
    return Problem(file=str(claim.path), line=claim.line, key="supernet", wrong=wrong, write=write)


def _shared(claim: _Claim, other: _Claim) -> Iterator[Problem]:
    for ours, theirs in shared(claim.gateways, other.gateways):
        there = replace(other, line=other.line_of(theirs.at))
        wrong = f"{ours.address} is the address of a gateway of {other.name} too, {there.place}"
        write = "another address: a gateway holds the tunnels of one environment"
        key = ".".join(map(str, ours.at))
        yield Problem(file=str(claim.path), line=claim.line_of(ours.at), key=key, wrong=wrong, write=write)


def _same_domain(claim: _Claim, other: _Claim) -> Iterator[Problem]:
    if claim.domain and claim.domain == other.domain:
        there = replace(other, line=other.line_of(("domain",)))
        wrong = (
            f"{claim.domain} is the domain of {other.name} too, {there.place}: laptops would reach only one API by it"
        )
        write = f"in one of the two, a domain of its own, such as {claim.name}.longhaul.internal"
        yield Problem(file=str(claim.path), line=claim.line_of(("domain",)), key="domain", wrong=wrong, write=write)


def _section(document: Document, path: Path) -> Raw:
    """Return the environment in a stack file. Raise ``ConfigurationError`` when there is none, or when it is in a newer
    format, so that the rest cannot be checked."""
    config = document.data.get("config")
    section = config.get(CONFIG_KEY) if isinstance(config, Mapping) else None
    if isinstance(section, dict):
        version = section.get("format")
        if isinstance(version, int) and version > FORMAT:
            line = document.line(("config", CONFIG_KEY, "format"))
            wrong = f"{version} is newer than this release, which reads {FORMAT}"
            write = f"{FORMAT}, or use the release that the file was written for"
            raise ConfigurationError([Problem(file=str(path), line=line, key="format", wrong=wrong, write=write)])
        return section
    wrong = "is missing" if section is None else "is not a mapping"
    write = f"config:\n      {CONFIG_KEY}:\n        format: 1\n        …"
    line = document.line(("config", CONFIG_KEY))
    raise ConfigurationError([Problem(file=str(path), line=line, key=f"config.{CONFIG_KEY}", wrong=wrong, write=write)])


def _load(path: Path) -> _Loaded:
    document = read_document(path)
    source = _Source(path=path, document=document, top=("config", CONFIG_KEY))
    return _parse(_section(document, path), source=source, stack=stack_name(path))


def _parse(raw: Raw, *, source: _Source, stack: str) -> _Loaded:
    problems: list[Problem] = []
    warnings: list[Problem] = []
    if "hosts" in raw:
        wrong = "belongs in a file of its own"
        problems.append(source.problem(Fault(at=("hosts",), wrong=wrong, write="bare_metal: <name of that file>")))
    read = validate(Environment, {key: value for key, value in raw.items() if key != "hosts"})
    problems += map(source.problem, read.findings)
    hosts, hosts_source = _hosts(raw.get("bare_metal"), beside=source, problems=problems)
    if read.value is not None:
        environment = read.value.model_copy(update={"hosts": hosts.value.hosts if hosts.value else ()})
        broken = read.broken | hosts.broken
        concluded = [finding for finding in check(environment, stack=stack) if finding.holds(broken)]
        loaded = _Loaded(environment=environment, source=source, hosts_source=hosts_source)
        problems += [loaded.source_of(finding).problem(finding) for finding in concluded]
        if not problems:
            return loaded
        wrong_there = {(problem.file, problem.key) for problem in problems}
        warnings += [warning for warning in loaded.warnings(broken) if (warning.file, warning.key) not in wrong_there]
    raise ConfigurationError(_in_order(problems), warnings=_in_order(warnings))


def _hosts(name: object, *, beside: _Source, problems: list[Problem]) -> tuple[Validated[Hosts], _Source]:
    """Read the hosts file, and add its faults to ``problems``."""
    # The environment's own validation reports an invalid name.
    if not isinstance(name, str) or not re.fullmatch(FILE_NAME, name):
        return Validated(value=None), beside
    source = _Source(path=beside.path.parent / name)
    try:
        document = read_document(source.path)
    except ConfigurationError as error:
        said_by = f"named by bare_metal in {beside.path}"
        problems += [replace(problem, wrong=f"{problem.wrong}, {said_by}") for problem in error.problems]
        return Validated(value=None), source
    source = replace(source, document=document)
    hosts = validate(Hosts, document.data)
    problems += map(source.problem, hosts.findings)
    return hosts, source


def _in_order(problems: list[Problem]) -> list[Problem]:
    """Sort problems by file, and within a file by line."""
    files = list(dict.fromkeys(problem.file for problem in problems))
    return sorted(problems, key=lambda problem: (files.index(problem.file), problem.line or 0))
