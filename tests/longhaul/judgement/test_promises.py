"""Every bad file of :mod:`tests.model.nodes.test_promises` on the command line: exit codes, one report, and never
"safe"."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from components.model.loading.load import load
from longhaul.cli import main
from longhaul.judgement.plan import PlanTerms, make_plan
from longhaul.judgement.text import to_text
from longhaul.terminal.exits import Exit
from tests.longhaul.judgement.steps import changes
from tests.longhaul.plan.test_files import STACK
from tests.model.files import write
from tests.model.nodes.test_promises import CASES, valid
from tests.support.project import REPOSITORY

NEW_STACK = {**STACK, "urn": STACK["urn"].replace(":lab::", ":test::")}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_told_as_a_whole_and_is_never_safe(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    change, problems, warnings = CASES[name]
    raw = valid()
    change(raw)
    (tmp_path / "stacks").mkdir()
    shutil.copy(REPOSITORY / "Pulumi.yaml", tmp_path)
    path = write(tmp_path / "stacks", raw)
    monkeypatch.delenv("LONGHAUL_ENV", raising=False)
    code = main(["validate", "--env", "test", "--project", str(tmp_path)])
    told = "".join(capsys.readouterr())
    assert code == (Exit.USAGE if problems else Exit.OK)
    assert all(words in told for words in (*problems.values(), *warnings.values())), told
    if problems:
        assert main(["plan", "--env", "test", "--project", str(tmp_path)]) == Exit.USAGE
        planned = "".join(capsys.readouterr())
    else:
        planned = to_text(make_plan(load(path), changes(NEW_STACK), PlanTerms(against="compared with nothing")))
    assert all(words in " ".join(planned.split()) for words in (*problems.values(), *warnings.values())), planned
    assert "safe" not in told + planned
