"""Runs `longhaul init` as a person or a script would, in a project of the test's own."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from components.model import Environment
from longhaul import cli
from longhaul.project.checkout import Project

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEV4YW1wbGVFeGFtcGxlRXhhbXBsZUV4YW1wbGVFeGFt ops@example"
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFhk/LkKNQC31ru54ymVcoIM67FZShjozqAZ026fyRip"
SUBSCRIPTION = "11111111-0000-4000-8000-000000000001"
TENANT = "11111111-0000-4000-8000-000000000002"
PERSON = "11111111-0000-4000-8000-000000000003"
ROBOT = "11111111-0000-4000-8000-000000000004"

AZURE = ("--azure-subscription", SUBSCRIPTION, "--azure-tenant", TENANT, "--azure-region", "westeurope")
ACCESS = ("--officer", f"{PERSON} user", "--operators", "203.0.113.0/28", "--administrator-key", KEY)
LEAST = ("--env", "train", *AZURE, *ACCESS)
"""Minimal flags of the command."""
AWS = ("--aws-region", "us-east-1", "--aws-machine-type", "m7i.xlarge")
RACK = ("--gateway", f"203.0.113.10 {HOST_KEY}", "--host", f"gpu-0 8 {HOST_KEY}", "--host", "cpu-0")

LEAST_TYPED = [
    "trial",
    SUBSCRIPTION,
    TENANT,
    "westeurope",
    "",
    "no",
    "no",
    "no",
    f"{PERSON} user",
    "",
    "203.0.113.7",
]
"""Minimal answers of a person, after the name: zones by default, no pool, no AWS, no racks."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Exit code and output of a run."""

    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """Return the document that ``--json`` printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found


class Person:
    """A person at a terminal with prepared answers; after the last one, Ctrl-C."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        if not self._answers:
            raise KeyboardInterrupt
        return f"{self._answers.pop(0)}\n"

    @property
    def left(self) -> int:
        """Number of answers that no question asked for."""
        return len(self._answers)


@dataclass(frozen=True, kw_only=True)
class Here:
    """A project without an environment."""

    project: Project
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    @property
    def stacks(self) -> Path:
        return self.project.stacks

    def names(self) -> list[str]:
        """Return the names of everything in the folder of the stacks."""
        return sorted(path.name for path in self.stacks.iterdir())

    def init(self, *words: str, typed: Person | None = None) -> Outcome:
        """Run the command; without a person, stdin is no terminal."""
        if typed is not None:
            self.monkeypatch.setattr(sys, "stdin", typed)
        code = cli.main(["init", "--project", str(self.project.root), *words])
        said = self.capsys.readouterr()
        return Outcome(code=code, out=said.out, err=said.err)

    def load(self, env: str = "train") -> Environment:
        """Return the environment as every other command reads it."""
        return self.project.load(env)
