"""Kubernetes objects and commands that the documents show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)((?: {4,}\S.*\n|[ \t]*\n(?= {4}))+)")
_RUN = re.compile(r"^ *(kubectl run (?:.*\\\n)*.*)$", re.MULTILINE)
_OF_A_CONTAINER = frozenset(
    {"args", "command", "env", "envFrom", "image", "resources", "securityContext", "volumeMounts"}
)
_OF_A_POD = frozenset(
    {"affinity", "containers", "nodeSelector", "priorityClassName", "runtimeClassName", "tolerations", "volumes"}
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Something that a page shows."""

    page: str
    line: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Manifest(Shown):
    """An object; a part of a pod is completed to one."""

    document: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Run(Shown):
    """Words of a ``kubectl run``, without those for a terminal."""

    words: tuple[str, ...]


def manifests(page: str, text: str) -> Iterator[Manifest]:
    """Yield the objects that a page shows in YAML, in fences or indented, and pods around parts of pods."""
    for line, block in sorted(_blocks(text)):
        try:
            documents = list(yaml.safe_load_all(block))
        except yaml.YAMLError:
            # A command, a drawing, another language.
            continue
        for document in documents:
            if isinstance(document, dict) and (whole := _whole(document)):
                yield Manifest(page=page, line=line, document=whole)


def runs(page: str, text: str) -> Iterator[Run]:
    """Yield the pods that a page makes by command."""
    for found in _RUN.finditer(text):
        words = shlex.split(found[1].replace("\\\n", " "))[1:]
        kept = tuple(word for word in words if word not in ("-it", "--rm"))
        yield Run(page=page, line=_line(text, found.start()), words=kept)


def pages(root: Path) -> dict[str, str]:
    """Return the text of every page of a checkout by its path."""
    found = sorted([root / "README.md", *(root / "docs").rglob("*.md")])
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found}


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    fences = list(_FENCED.finditer(text))
    for found in fences:
        if found[1] in ("", "yaml", "json"):
            yield _line(text, found.start(2)), found[2]
    for found in _INDENTED.finditer(text):
        if not any(fence.start() <= found.start() < fence.end() for fence in fences):
            lines = found[1].splitlines()
            margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
            yield _line(text, found.start()), "\n".join(line[margin:] for line in lines)


def _whole(document: dict[str, Any]) -> dict[str, Any] | None:
    if {"apiVersion", "kind"} <= document.keys():
        return document
    container = {"name": "shown", "image": "registry.example.com/shown:1"}
    if document.keys() and document.keys() <= _OF_A_CONTAINER:
        spec: dict[str, Any] = {"containers": [container | document]}
    elif document.keys() and document.keys() <= _OF_A_POD:
        spec = {"containers": [container], **document}
    else:
        return None
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shown"}, "spec": spec}


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
