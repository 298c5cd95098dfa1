"""The output of ``longhaul up`` and ``destroy``: little on the terminal, everything in a log, and how it ended."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
from pathlib import Path

import pytest

from longhaul.cli.parsing import parse, parser
from longhaul.engine.phase_outcome import PhaseResult
from longhaul.engine.run_log import KEPT, new_log
from longhaul.project.checkout import Project
from longhaul.project.context import Context
from longhaul.terminal.exits import Exit
from longhaul.terminal.output import Output
from longhaul.terminal.progress import Progress
from longhaul.up import phases
from longhaul.up.phases import Phase, UpJob, run_side_by_side
from tests.longhaul.conftest import LIMIT_S, UP, Checkout, FakeEngine
from tests.longhaul.fake_ansible import FakeAnsible
from tests.longhaul.terminal.test_progress import STACK, begins, ends, says
from tests.longhaul.up.test_phases import ALL, row, wait_for

NO_PID = 2**22 + 1
"""Number that no process has (proc(5), ``/proc/sys/kernel/pid_max``)."""
CHANGED = (begins("same", "dev", STACK), begins("update", "api"), ends("update", "api"))


def logs(checkout: Checkout) -> list[Path]:
    return sorted(checkout.home.rglob("log/*.log"))


def test_what_programs_print_goes_into_a_log_that_is_named(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    engine.logs(*CHANGED)
    ansible.finds(dev_gw_0={"state": "ok"}, dev_node_0={"state": "changed", "changed": 2})
    done = checkout.run(*ALL)
    assert (done.returncode, done.stdout) == (Exit.OK, ""), done.stderr
    (log,) = logs(checkout)
    assert done.stderr.splitlines()[-1] == f"  log: {log}"
    assert done.stderr.count(str(log)) == 1
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700
    text = log.read_text()
    for line in (
        "dev is made",
        "hosts          | a task",
        "hosts          | a warning",
        "objects        | dev-objects",
    ):
        assert f"\n{line}" in text
    assert "api (VirtualMachine) changed, 0 s" in done.stderr
    assert "longhaul: dev is as its file says" in done.stderr
    assert row(done.stderr, "infrastructure").endswith("1 changed")
    assert row(done.stderr, "hosts").endswith("hosts: 1 ready, 1 changed")


def test_verbose_shows_all_of_it_and_keeps_no_log(checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible) -> None:
    engine.logs(*CHANGED)
    for words in (("--verbose",), ("--", "--show-secrets")):
        done = checkout.run(*ALL, *words)
        assert done.returncode == Exit.OK, done.stderr
        assert "dev is made\n" in done.stdout
        assert "objects        | dev-objects is made\n" in done.stdout
        assert "hosts          | a task\n" in done.stdout
        assert "hosts          | a warning\n" in done.stderr
        assert "api (VirtualMachine)" not in done.stderr, "the engine itself has said it"
        assert row(done.stderr, "infrastructure").endswith("1 changed")
    assert logs(checkout) == []


def test_an_error_is_shown_in_full_and_once_with_what_to_do(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    failed = {"resOpFailedEvent": {"metadata": begins("create", "etcd")["resourcePreEvent"]["metadata"]}}
    error = says("error", "the cloud says no\nfor a reason\n", "etcd")
    engine.logs(begins("create", "etcd"), error, failed, error, says("error", "update failed"))
    engine.fails("up")
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert "error: etcd (VirtualMachine):\n    the cloud says no\n    for a reason\n" in done.stderr
    assert done.stderr.count("the cloud says no") == 1
    assert "update failed" not in done.stderr
    assert "dev is made" not in done.stderr
    assert f"`longhaul {' '.join(UP)}` continues" in done.stderr
    assert str(logs(checkout)[0]) in done.stderr


def test_an_engine_that_logs_no_error_is_quoted(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.fails("up")
    done = checkout.run(*UP)
    assert "infrastructure: the engine ended with 1\n    dev is made\n" in done.stderr


def test_an_error_of_our_own_comes_before_the_summary(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.waits()
    first = checkout.start(*UP, stderr=subprocess.DEVNULL)
    try:
        wait_for(engine.folder / "waiting")
        done = checkout.run(*UP)
    finally:
        first.send_signal(signal.SIGINT)
        first.wait(LIMIT_S)
    assert done.returncode == Exit.FAILED
    text = logs(checkout)[-1].read_text()
    for said in (done.stderr, text):
        assert "is already running for dev" in said
        assert "longhaul: failed in infrastructure; see above" in said


def test_a_destruction_is_as_quiet(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.logs(begins("same", "dev", STACK), begins("delete", "etcd"), ends("delete", "etcd"))
    done = checkout.run("destroy", "--env", "dev", "--yes")
    assert (done.returncode, done.stdout) == (Exit.OK, ""), done.stderr
    assert "etcd (VirtualMachine) removed" in done.stderr
    assert "longhaul: dev is destroyed" in done.stderr
    assert row(done.stderr, "destruction").endswith("1 removed")
    assert "longhaul: dev is destroyed" in logs(checkout)[0].read_text()


@pytest.mark.parametrize("words", [["--json"], ["--", "--json"], ["--", "-j"]])
def test_the_json_of_a_destruction_is_for_programs(checkout: Checkout, engine: FakeEngine, words: list[str]) -> None:
    engine.has_stack()
    engine.prints("destroy", "{}")
    done = checkout.run("destroy", "--env", "dev", "--yes", *words)
    assert (done.returncode, done.stdout) == (Exit.OK, "{}"), done.stderr


def test_a_terminal_that_is_gone_changes_nothing_of_the_end(checkout: Checkout, engine: FakeEngine) -> None:
    engine.waits()
    with Path("/dev/full").open("wb") as full:
        process = checkout.start(*UP, "--verbose", stdout=full, stderr=full)
        wait_for(engine.folder / "waiting")
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    assert list(checkout.home.rglob("dev.json")) == [], "its run is forgotten"


def test_a_copy_that_cannot_be_written_ends_nothing() -> None:
    before = len(os.listdir("/proc/self/fd"))
    _print_into(Output(log=Path("/dev/full"), prefix="one | "))
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_error_on_a_terminal_that_is_gone_is_in_the_log(checkout: Checkout, engine: FakeEngine) -> None:
    engine.fails("stack")
    with Path("/dev/full").open("wb") as full:
        assert checkout.start(*UP, stdout=full, stderr=full).wait(LIMIT_S) == Exit.FAILED
    assert "longhaul: the stack dev cannot be created" in logs(checkout)[0].read_text()


def test_only_the_lines_of_the_phases_own_programs_are_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    alone, beside = Output(log=log), Output(log=log, prefix="one | ")
    since = alone.size()
    alone.note("a word\n    and more")
    with log.open("a") as file:
        file.write("two | of another\none | its own\n")
    assert beside.tail(since) == "its own"
    assert alone.tail(since) == "two | of another\none | its own"


def test_a_log_that_was_removed_comes_back_for_its_owner_alone(tmp_path: Path) -> None:
    output = Output(log=tmp_path / "log")
    assert (output.size(), output.tail(0)) == (0, "")
    for write in (lambda: output.note("a word"), lambda: _print_into(output)):
        write()
        assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
        (tmp_path / "log").unlink()


def _print_into(output: Output) -> None:
    with output.streams(answers=False) as streams:
        subprocess.run(["echo", "a line"], stdout=streams.stdout, check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("verb", "stack", "phase"),
    [("up", "dev", "infrastructure"), ("preview", "dev", "infrastructure"), ("up", "dev-objects", "objects")],
)
def test_whatever_interrupts_it_it_says_in_which_phase_and_how_to_go_on(
    checkout: Checkout,
    engine: FakeEngine,
    ansible: FakeAnsible,
    number: signal.Signals,
    verb: str,
    stack: str,
    phase: str,
) -> None:
    engine.logs(*CHANGED, begins("create", "etcd"), stack=stack)
    engine.waits(stack, verb)
    said = checkout.path / "said"
    with said.open("wb") as file:
        process = checkout.start(*ALL, stderr=file)
    wait_for(engine.folder / "waiting")
    if phase == "objects":
        _await(said, "hosts: done")
    process.send_signal(number)
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    text = said.read_text()
    assert f"longhaul: interrupted in {phase}\n" in text
    assert f"{phase}: interrupted; running operations are finished first" in text
    assert row(text, phase).split()[1] == "interrupted"
    assert "completed work is recorded; `longhaul up --env dev --yes` continues" in text
    assert ("stopped half-way: etcd (VirtualMachine)" in text) == (verb == "up")
    others = {"infrastructure": ("hosts  ", "not begun"), "objects": ("infrastructure", "done")}[phase]
    assert others[1] in row(text, others[0].strip())


def test_an_interrupt_while_nothing_runs_is_said_too(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    """As between two phases: the command asks whether to go on, and has no child."""
    keyboard, terminal = pty.openpty()
    said = checkout.path / "said"
    with said.open("wb") as file:
        process = subprocess.Popen(
            checkout.argv(*ALL[:-1]),
            cwd=checkout.path,
            env=checkout.variables(),
            stdin=terminal,
            stderr=file,
            stdout=file,
        )
    os.close(terminal)
    _await(said, "Go on? (yes/no)")
    process.terminate()
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    os.close(keyboard)
    assert "longhaul: interrupted\n" in said.read_text()
    assert row(said.read_text(), "objects").split()[1:] == ["not", "begun"]


def _await(path: Path, text: str) -> None:
    """Wait until the file holds the text."""
    for _ in range(int(LIMIT_S / 0.02)):
        if text in path.read_text():
            return
        select.select([], [], [], 0.02)
    raise AssertionError(path.read_text())


@pytest.mark.parametrize("answer", ["no\n", "\x04"])
def test_whoever_does_not_want_to_go_on_has_nothing_to_repair(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible, answer: str
) -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, answer.encode())
    with os.fdopen(keyboard, "wb"), os.fdopen(terminal, "rb") as typed:
        done = subprocess.run(
            checkout.argv(*ALL[:-1]),
            cwd=checkout.path,
            env=checkout.variables(),
            stdin=typed,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert done.returncode == Exit.FAILED
    assert "hosts and objects: left as they are" in done.stderr
    assert "completed work is recorded; `longhaul up --env dev` continues" in done.stderr
    assert "repair" not in done.stderr


def test_the_engine_asks_on_the_terminal_and_shows_its_preview_there(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, b"yes\n")
    done = subprocess.run(
        checkout.argv(*ALL[:-1]),
        cwd=checkout.path,
        env=checkout.variables(),
        stdin=terminal,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    os.close(keyboard)
    os.close(terminal)
    assert done.returncode == Exit.OK, done.stderr
    assert "dev is made\n" in done.stdout
    assert "dev-objects is made" not in done.stdout
    assert engine.commands()[1:] == [
        "up --stack dev --suppress-outputs --refresh",
        "up --stack dev-objects --suppress-outputs --yes --refresh",
    ]


def test_every_option_of_up_reaches_every_phase(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The phases that run in processes of their own get what the user wrote, whatever options there will be."""
    monkeypatch.setenv("LONGHAUL_KUBECONFIG", "/given/kubeconfig")
    (grammar,) = parser("up")._subparsers._group_actions[0].choices.values()  # type: ignore[union-attr]
    actions = [one for one in grammar._actions if one.dest not in {"help", "example"}]
    given = [word for one in actions for word in (one.option_strings[0], *_value(one.nargs, one.choices))]
    options = parse(["up", *given]).options
    assert all(getattr(options, one.dest) != one.default for one in actions)

    def noted(job: UpJob, phase: Phase, _: Progress) -> PhaseResult:
        (tmp_path / phase).write_text(repr(sorted(vars(job.options).items())))
        return PhaseResult(code=Exit.OK)

    monkeypatch.setattr(phases, "_work", noted)
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    job = UpJob(
        where=where,
        environment=where.project.load("dev"),
        environ=os.environ,
        options=options,
        rest=(),
        log=None,
        began=0.0,
    )
    side = (Phase.HOSTS, Phase.OBJECTS)
    assert [one.code for one in run_side_by_side(job, side)] == [Exit.OK, Exit.OK]
    for phase in side:
        assert (tmp_path / phase).read_text() == repr(sorted(vars(options).items()))


def _value(nargs: object, choices: object) -> list[str]:
    """Return a value for an option, none for a flag; no option of ``up`` has it by default."""
    if nargs == 0:
        return []
    return [str(next(iter(choices)))] if isinstance(choices, (list, tuple)) else ["37"]


def test_the_last_few_logs_of_an_environment_are_kept(checkout: Checkout) -> None:
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    environ = {"HOME": str(checkout.home)}
    other = new_log(Context(project=where.project, env="dev-up", lab=None), "up", environ)
    folder = other.parent
    for day in range(10, 30):
        (folder / f"dev-up-202501{day}-000000-{NO_PID}.log").touch()
    at_work = folder / f"dev-up-20250101-000000-{os.getppid()}.log"
    at_work.touch()
    newest = new_log(where, "up", environ)
    kept = sorted(folder.glob("dev-up-2*.log"))
    assert len(kept) == KEPT + 1
    assert (kept[0], kept[-1]) == (at_work, newest)
    assert other.exists()
