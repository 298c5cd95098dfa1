"""The engine of one stack: command lines, stack, backend, records. An environment has two stacks: ``<env>`` with
everything up to the cluster, and ``<env>-objects`` with what runs on the cluster."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from contract.project import OBJECTS, OBJECTS_OF, PROJECT_FILE
from longhaul.engine.backend import Backend, current_backend
from longhaul.engine.events import EngineEvents
from longhaul.engine.execution import EngineResult, ask_engine, run_engine
from longhaul.engine.location import engine_binary, engine_environment
from longhaul.engine.records import RunFile
from longhaul.engine.throwaway import unlogged_home
from longhaul.project.checkout import Project
from longhaul.project.context import Context, state_folder
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.output import Output
from longhaul.terminal.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Ran(EngineResult):
    """Result of a run, with its events."""

    events: EngineEvents


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The engine of one stack, with all paths and variables that it needs."""

    project: Project
    name: str
    """The project's name in ``Pulumi.yaml``."""
    stack: str
    binary: Path
    environ: Mapping[str, str]
    backend: Backend
    config_file: Path | None
    """File that is read instead of the stack file, when the stack file must not be written to."""
    records: RunFile
    progress: Progress | None = None
    """Shows the progress of runs; with None, the engine writes all of its output on this terminal."""

    def argv(self, *words: str, configured: bool = False) -> list[str]:
        """Return the command line of ``pulumi WORDS`` for this stack; ``configured`` adds the stack's configuration
        file."""
        config = ["--config-file", str(self.config_file)] if configured and self.config_file else []
        return [str(self.binary), *words, "--stack", self.stack, *config]

    def run(
        self, argv: list[str], *, stdout: IO[bytes] | None = None, started: Callable[[int], None] | None = None
    ) -> EngineResult:
        """Run a command line and wait for its end. If there is a ``progress``, follow the run as :meth:`follow`
        does."""
        if self.progress is not None:
            return self.follow(argv, stdout=stdout, started=started)
        return run_engine(argv, cwd=self.project.root, environ=self.environ, stdout=stdout, started=started)

    def follow(
        self,
        argv: list[str],
        *,
        stdout: IO[bytes] | None = None,
        started: Callable[[int], None] | None = None,
    ) -> Ran:
        """Run a command and follow its events, which the engine logs only with its debugging commands. Messages of a
        preview are not shown here; the caller reads them in the result. In a run that has a log, the
        engine writes none of its own (:func:`~longhaul.engine.throwaway.unlogged_home`)."""
        progress = self.progress or Progress(
            title=self.stack, output=Output(log=None, terminal=True), began=time.monotonic()
        )
        events = EngineEvents(shown=None if argv[1] == "preview" else progress.shown)
        since = progress.output.size()
        with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
            path = Path(folder) / "events.json"
            home = {} if progress.output.log is None else unlogged_home(Path(folder) / "home", self.environ)
            with progress.following(events, path, answers=True) as followed:
                result = run_engine(
                    [*argv, "--event-log", str(path)],
                    cwd=self.project.root,
                    environ={**self.environ, **home, "PULUMI_DEBUG_COMMANDS": "true"},
                    stdout=stdout or followed.streams.stdout,
                    stderr=followed.streams.stderr,
                    started=started,
                    interrupted=followed.interrupt,
                    look=followed.look,
                )
        if result.code != 0 and not result.interrupted and not events.errors:
            # It failed before its first event, or after its last: only its own output says why.
            progress.say(f"the engine ended with {result.code}\n{progress.output.tail(since)}".rstrip())
        return Ran(code=result.code, interrupted=result.interrupted, events=events)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command quietly."""
        return ask_engine(self.argv(*words), cwd=self.project.root, environ=self.environ)

    def run_or_fail(self, *words: str, doing: str) -> str:
        """Run a command quietly and return its output. Raise ``CommandError`` with the engine's reason when the command
        fails."""
        done = self.ask(*words)
        if done.returncode != 0:
            raise CommandError(f"{doing}: {failure_reason(done)}")
        return done.stdout

    def has_stack(self) -> bool | None:
        """Return whether the stack exists; None when only the engine can know."""
        if self.backend.folder is None:
            return None
        return self.backend.state_file(self.name, self.stack) is not None

    def is_new(self) -> bool:
        """Return whether the stack does not exist yet."""
        known = self.has_stack()
        return self.ask("stack", "--show-name").returncode != 0 if known is None else not known


def failure_reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return the engine's reason for its failure."""
    text = (done.stderr or done.stdout).strip()
    return text.removeprefix("error: ") or f"the engine ended with {done.returncode} and without output"


def engine_for(
    where: Context,
    environ: Mapping[str, str] | None = None,
    *,
    objects: bool = False,
    progress: Progress | None = None,
) -> Engine:
    """Return the engine for an environment; with ``objects``, for the stack of what runs on its cluster. Raise
    ``CommandError`` when the engine is not installed or no backend is configured."""
    variables = engine_environment(os.environ if environ is None else environ)
    definition = where.project.definition()
    backend = current_backend(definition, variables)
    if not backend.url and not variables.get("PULUMI_ACCESS_TOKEN"):
        raise CommandError(
            "no backend is chosen for the engine's state: set PULUMI_BACKEND_URL (file://…, azblob://…, s3://…) "
            "or run `pulumi login`",
            code=Exit.USAGE,
        )
    stack = f"{where.env}{OBJECTS}" if objects else where.env
    return Engine(
        project=where.project,
        name=str(definition["name"]),
        stack=stack,
        binary=engine_binary(variables),
        environ=variables,
        backend=backend,
        config_file=_lab_config(where, stack),
        records=RunFile(path=_records_path(where, stack, variables)),
        progress=progress,
    )


def ensure_stack(engine: Engine) -> None:
    """Create the stack when it is missing. The stack's secrets are encrypted with the key of the environment's own
    stack."""
    if engine.has_stack():
        return
    words = ("stack", "init", "--no-select", *_encrypted_with(engine))
    done = _init_elsewhere(engine, words) if engine.config_file else engine.ask(*words)
    if done.returncode != 0 and "already exists" not in done.stderr:
        raise CommandError(f"the stack {engine.stack} cannot be created: {failure_reason(done)}")


def _encrypted_with(engine: Engine) -> tuple[str, ...]:
    """Return the option with the cloud's key that the stack's file names, or else the environment's file; empty without
    such a key. Without the option the engine uses a passphrase for a new stack, whatever the file says (pulumi
    v3.250.0, ``pkg/cmd/pulumi/stack``, ``createSecretsManagerForNewStack``)."""
    from components.model.loading.document import read_document

    for stack in (engine.stack, engine.stack.removesuffix(OBJECTS)):
        path = engine.project.stack_file(stack)
        # The engine has not written to an empty file yet.
        content = read_document(path).data if path.exists() and path.stat().st_size else {}
        provider = str(content.get("secretsprovider") or "")
        if provider not in ("", "default", "passphrase"):
            return ("--secrets-provider", provider)
    return ()


def _init_elsewhere(engine: Engine, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Create the stack from a temporary folder: ``stack init`` writes into the stack file of its working directory."""
    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        Path(folder, PROJECT_FILE).write_text(f"name: {engine.name}\nruntime: python\n", encoding="utf-8")
        return ask_engine(engine.argv(*words), cwd=Path(folder), environ=engine.environ)


def _lab_config(where: Context, stack: str) -> Path | None:
    """Return the configuration file of a lab's stack. Outside a lab, create a missing stack file and return None. A
    lab's salt is useless to others, so the engine gets a copy of the stack file and does not write to the tracked file.
    The salt in an earlier copy is kept, because the state of a killed run is encrypted with that salt."""
    source = where.project.stack_file(stack)
    if where.lab is None:
        if not source.exists():
            source.write_text(objects_file(where.env), encoding="utf-8")
        return None
    copy = where.lab.folder / source.name
    text = source.read_text(encoding="utf-8") if source.exists() else objects_file(where.env)
    salt = _salt(copy.read_text(encoding="utf-8")) if copy.exists() else ""
    copy.write_text(text if _salt(text) or not salt else f"{salt}\n{text}", encoding="utf-8")
    return copy


def _salt(text: str) -> str:
    """Return the line with the salt in a stack file; empty when there is none."""
    return next((line for line in text.splitlines() if line.startswith("encryptionsalt:")), "")


def objects_file(env: str) -> str:
    """Return the stack file of an environment's objects. The file has only the environment's name; the engine adds a
    salt."""
    return f"config:\n  {OBJECTS_OF}: {env}\n"


def _records_path(where: Context, stack: str, environ: Mapping[str, str]) -> Path:
    name = stack if where.lab is None else stack.replace(where.env, "run", 1)
    return state_folder(where, environ) / f"{name}.json"
