"""GPUs that the environment promises for this machine: /etc/longhaul/node.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu.findings import LookError


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Keys of node.json, all of them optional: ``gpus``, ``gpu_model``, ``gpu_nvlinks`` and ``gpu_check``."""

    gpus: int = 0
    """Number of GPUs."""
    model: str = ""
    """Words of the GPUs' name, such as ``H100``; empty for any."""
    links: int | None = None
    """Smallest number of active NVLinks of each GPU; ``None`` to judge by the links that the GPUs report."""
    check: tuple[str, ...] = ()
    """Command with its arguments that tests memory and compute; empty for none."""

    @classmethod
    def read(cls, path: Path) -> Promise:
        """Read the file; raise ``LookError`` when it is missing or a value has the wrong form."""
        try:
            node = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise LookError(f"{path}: {error}: what GPUs this machine should have is not known") from None
        if not isinstance(node, dict):
            raise LookError(f"{path}: not an object")
        promise = cls(
            gpus=node.get("gpus", 0),
            model=node.get("gpu_model", ""),
            links=node.get("gpu_nvlinks"),
            check=_words(node.get("gpu_check", []), path),
        )
        if not _count(promise.gpus):
            raise LookError(f"{path}: gpus must be a number, not {promise.gpus!r}")
        if not isinstance(promise.model, str):
            raise LookError(f"{path}: gpu_model must be a text, not {promise.model!r}")
        if not (promise.links is None or _count(promise.links)):
            raise LookError(f"{path}: gpu_nvlinks must be a number, not {promise.links!r}")
        return promise


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _words(value: Any, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise LookError(f"{path}: gpu_check: {value!r}: a list is wanted, the program and its arguments")
    return tuple(value)
