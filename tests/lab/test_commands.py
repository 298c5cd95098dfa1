"""Every command of the program in the shared lab: each ends with its exit code, and says in words what is not in the
environment."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from longhaul.cli.command_list import COMMANDS
from longhaul.terminal.exits import Exit
from tests.support.project import Project
from tests.support.shared_lab import SERVERS, SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

EXPECTED: dict[tuple[str, ...], tuple[Exit, str]] = {
    ("show",): (Exit.OK, ""),
    ("acceptance", "--reuse"): (Exit.USAGE, "there is no terminal to ask on: pass --yes"),
    ("init",): (Exit.USAGE, "is there already"),
    ("validate",): (Exit.OK, ""),
    ("prices", "--check"): (Exit.FAILED, "stacks/prices.yaml does not exist; `longhaul prices --env"),
    ("doctor",): (Exit.OK, ""),
    ("image", "build", "--site", "weu", "--json"): (Exit.OK, "the lab's image is baked by `make lab`"),
    ("depot", "verify", "/no-such-depot"): (Exit.USAGE, "`longhaul depot build --to /no-such-depot` makes one"),
    ("up", "--only", "objects", "--yes"): (Exit.OK, ""),
    ("hosts", "--preflight"): (Exit.OK, ""),
    ("ansible", "--", "--list-hosts"): (Exit.OK, ""),
    ("autoscaler", "--once", "--dry-run"): (Exit.OK, ""),
    ("restore",): (Exit.USAGE, "one of the arguments --key --give-up is required"),
    ("destroy",): (Exit.USAGE, "there is no terminal to ask on: pass --yes"),
    ("plan",): (Exit.OK, ""),
    ("review", "--no-plan"): (Exit.USAGE, "one of the arguments --base --drift --from --names is required"),
    ("roll", "--pool", "spare", "--dry-run"): (Exit.OK, ""),
    ("rotate", "tunnels", "--readmit", "x"): (Exit.USAGE, "--readmit is not for tunnels"),
    ("machine", "quarantine", "nobody", "--yes"): (Exit.USAGE, "no machine and no host with the name nobody"),
    ("access", "show"): (Exit.OK, ""),
    ("status",): (Exit.OK, ""),
    ("capacity",): (Exit.OK, ""),
    ("backups",): (Exit.USAGE, "has no backups: declare `backups` in its file (docs/backups.md)"),
    ("login",): (Exit.USAGE, "has no issuers, so nobody can sign in: declare them as `identity` in its file"),
    ("vpn", "--write-only"): (Exit.USAGE, "has no VPN: declare `vpn` in its file, and run `longhaul up"),
    ("kubeconfig",): (Exit.OK, ""),
    ("shell", SERVERS[0], "--", "longhaul-node", "status"): (Exit.OK, ""),
}
"""Exit code and words on the error channel of a harmless use of each command."""
AT_ONCE = 4
"""Number of commands that run side by side. A command of the engine runs alone (:data:`ALONE`): the engine locks its
stack."""
ALONE = ("up", "plan")


@pytest.fixture(scope="module", name="done")
def _done(shared_lab: SharedLab) -> dict[tuple[str, ...], subprocess.CompletedProcess[str]]:
    project = shared_lab.take()
    alone = {words: _run(project, words) for words in EXPECTED if words[0] in ALONE}
    others = [words for words in EXPECTED if words not in alone]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(lambda words: _run(project, words), others)
        return {**alone, **dict(zip(others, results, strict=True))}


def _run(project: Project, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    return project.longhaul(*words, check=False)


def test_each_command_is_among_them() -> None:
    assert {words[0] for words in EXPECTED} == set(COMMANDS)


@pytest.mark.parametrize("words", EXPECTED, ids=" ".join)
def test_a_command_ends_with_its_code_and_in_words(
    done: dict[tuple[str, ...], subprocess.CompletedProcess[str]], words: tuple[str, ...]
) -> None:
    code, message = EXPECTED[words]
    ended = done[words]
    print(f"longhaul {' '.join(words):<48} {ended.returncode}")
    assert (ended.returncode, message in ended.stderr) == (code, True), ended.stdout[-2000:] + ended.stderr
    assert "Traceback" not in ended.stderr
    assert "404" not in ended.stderr
