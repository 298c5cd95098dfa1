"""The phases of ``longhaul up``: the infrastructure first, then hosts and objects side by side. Hosts and objects need
each other: nodes need the permission to join, and DNS needs nodes to run on."""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.cluster.api_access import GIVEN, kubeconfig_file
from longhaul.engine.change import change_with_pending, exit_code
from longhaul.engine.engine import Engine, Ran, engine_for, ensure_stack
from longhaul.engine.execution import EngineResult, fork, hold_signals, run_together
from longhaul.engine.options import wants_json
from longhaul.engine.phase_outcome import PhaseOutcome, PhaseResult, attempt, engine_phase_result, run_catching
from longhaul.engine.recovery import recover
from longhaul.judgement.gate import confirmation_words, is_judged, refuse
from longhaul.project.context import Context
from longhaul.terminal.exits import Exit
from longhaul.terminal.output import Output
from longhaul.terminal.progress import Progress, counts
from longhaul.up.api_route import require_api

if TYPE_CHECKING:
    from components.model import Environment


REFRESH = "--refresh"
"""The engine's option that refreshes the state from the clouds first."""
NICE = 10
"""Niceness of the preparation: the infrastructure is on the critical path and has priority."""


class Phase(StrEnum):
    """A part of ``up`` that can run alone."""

    INFRASTRUCTURE = "infrastructure"
    """The stack ``<env>``: networks, vault, control plane, pools, links."""
    PREPARATION = "preparation"
    """The part of gateways and bare-metal hosts that does not depend on the infrastructure, by Ansible: packages,
    binaries, units. It runs beside the first infrastructure; hosts that are already nodes are left alone."""
    HOSTS = "hosts"
    """Gateways and bare-metal hosts, by Ansible."""
    OBJECTS = "objects"
    """The stack ``<env>-objects``: what runs on the cluster."""


WITH_ENGINE = (Phase.INFRASTRUCTURE, Phase.OBJECTS)
"""Phases that run the engine."""


@dataclass(frozen=True, kw_only=True)
class UpJob:
    """One run of ``up``. Each phase gets the whole job, in whichever process the phase runs, so that no option can be
    lost."""

    where: Context
    environment: Environment
    environ: Mapping[str, str]
    options: argparse.Namespace
    """The options as the user gave them."""
    rest: tuple[str, ...]
    """The user's own options for the engine."""
    log: Path | None
    """The run's log; None when everything is shown."""
    began: float
    """Start of the run, by ``time.monotonic``."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return all options for the engine. By default it refreshes the state from the clouds first, so that what
        vanished there is made again."""
        given = self.options.no_refresh or any(word.startswith(("--refresh", "-r")) for word in self.rest)
        return (
            "--suppress-outputs",
            *(["--yes"] if self.options.yes else []),
            *(["--json"] if self.json else []),
            *([] if given else [REFRESH]),
            *self.rest,
        )

    @property
    def json(self) -> bool:
        """Return whether the engine's output is for programs."""
        return wants_json(self.options, self.rest)

    def consented(self, **variables: str) -> UpJob:
        """Return the same job with ``--yes`` and further environment variables, for phases that run after the user has
        agreed, and that cannot ask."""
        options = argparse.Namespace(**{**vars(self.options), "yes": True})
        return replace(self, options=options, environ={**self.environ, **variables})

    def progress(self, phase: Phase, *, beside: bool = False) -> Progress:
        """Return the progress of a phase, which may run ``beside`` another. The engine asks its questions on the
        terminal."""
        asks = phase in WITH_ENGINE and not self.options.yes
        prefix = f"{phase:<{max(map(len, Phase))}} | " if beside else ""
        output = Output(log=self.log, terminal=self.log is None or asks, prefix=prefix, json=self.json)
        return Progress(title=phase, output=output, began=self.began)


def phases(environment: Environment) -> tuple[Phase, ...]:
    """Return the phases that an environment has."""
    from longhaul.racks.inventory import has_hosts

    return tuple(Phase) if has_hosts(environment) else WITH_ENGINE


def run_phase(job: UpJob, phase: Phase, *, beside: bool = False) -> PhaseOutcome:
    """Run one phase to its end, successful or not. With ``beside``, another phase runs at the same time."""
    progress = job.progress(phase, beside=beside)
    return attempt(progress, lambda: _work(job, phase, progress))


def _work(job: UpJob, phase: Phase, progress: Progress) -> PhaseResult:
    match phase:
        case Phase.INFRASTRUCTURE:
            return _infrastructure(job, progress)
        case Phase.PREPARATION | Phase.HOSTS:
            return _hosts(job, progress, early=phase is Phase.PREPARATION)
        case Phase.OBJECTS:
            with kubeconfig_file(job.where, job.environment, job.environ, master=True) as kubeconfig:
                require_api(job.environment, kubeconfig, say=progress.say)
                environ = {**job.environ, "KUBECONFIG": str(kubeconfig)}
                engine = engine_for(job.where, environ, objects=True, progress=progress)
                recover(engine)
                return engine_phase_result(engine, _make(engine, job.words))


def _infrastructure(job: UpJob, progress: Progress) -> PhaseResult:
    engine = engine_for(job.where, job.environ, progress=progress)
    words: Sequence[str] = job.words
    # Recovery comes first: another running `up` may be working on the machines.
    recover(engine)
    if engine.has_stack() is not False:
        from longhaul.vault.restore_record import refuse_half_restored

        refuse_half_restored(job.environment)
    if is_judged(engine, words):
        from longhaul.judgement.api_usage import api_usage_reader
        from longhaul.project.baked_images import image_versions

        images = image_versions(job.where, job.environment, job.environ)
        apis = api_usage_reader(job.where, job.environment, job.environ, master=True)
        if refuse(engine, job.environment, words, max_removed=job.options.max_removed, images=images, apis=apis):
            return PhaseResult(code=Exit.REFUSED)
        words = confirmation_words(words)
    if REFRESH in words and engine.has_stack() is not False:
        from longhaul.up.power_on import power_on

        power_on(job.environment)
    ran = _make(engine, words)
    if ran.events.renewed and not ran.interrupted:
        from longhaul.up.renewed_certificates import distribute

        distribute(job.environment, ran.events.renewed, progress.say)
    return engine_phase_result(engine, ran)


def _hosts(job: UpJob, progress: Progress, *, early: bool) -> PhaseResult:
    from longhaul.racks.playbook_runs import run_all

    result, account = run_all(job.where, job.environment, job.environ, progress, early=early)
    states = Counter(str(verdict.state) for verdict in account.verdicts.values())
    return PhaseResult(code=exit_code(result), counts=f"hosts: {counts(states)}" if states else "")


def _make(engine: Engine, words: Sequence[str]) -> Ran:
    """Create the stack if needed, and change it to what the program declares."""
    ensure_stack(engine)
    return change_with_pending(engine, "up", words)


class Forked:
    """A phase that runs in a fork of this process."""

    def __init__(self, job: UpJob, phase: Phase) -> None:
        self._job = job
        self._phase = phase
        self._begun = time.monotonic()
        self._report = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed when it is read

    def run(self) -> int:
        """Run the phase, and store its outcome for :meth:`outcome`."""
        progress = self._job.progress(self._phase, beside=True)
        outcome = attempt(progress, lambda: self._work(progress))
        json.dump(asdict(outcome), self._report)
        self._report.flush()
        return outcome.code

    def _work(self, progress: Progress) -> PhaseResult:
        """Do the phase's work; an interrupt after its end must not lose the outcome."""
        try:
            return _work(self._job, self._phase, progress)
        finally:
            hold_signals()

    def outcome(self, result: EngineResult) -> PhaseOutcome:
        """Return the outcome after the end of :meth:`run`; when the fork was killed, return an outcome made from
        ``result``."""
        with self._report as report:
            report.seek(0)
            text = report.read()
        if not text:
            ended = f"its process ended with {result.code} and reported nothing"
            self._job.progress(self._phase, beside=True).say(ended)
            seconds = round(time.monotonic() - self._begun, 1)
            code = exit_code(result)
            return PhaseOutcome(title=self._phase, code=code, seconds=seconds, interrupted=result.interrupted)
        fields = json.loads(text)
        return PhaseOutcome(**{**fields, "code": Exit(fields["code"]), "unfinished": tuple(fields["unfinished"])})


def run_side_by_side(job: UpJob, side: Sequence[Phase]) -> list[PhaseOutcome]:
    """Run several phases at once; none may ask a question."""

    def work() -> list[PhaseOutcome]:
        with kubeconfig_file(job.where, job.environment, job.environ, master=True) as kubeconfig:
            forked = [Forked(job.consented(**{GIVEN: str(kubeconfig)}), phase) for phase in side]
            results = run_together([child.run for child in forked])
        return [child.outcome(result) for child, result in zip(forked, results, strict=True)]

    outcomes = run_catching(work, Output(log=job.log))
    return not_begun(side, outcomes) if isinstance(outcomes, Exit) else outcomes


class Preparation:
    """The preparation of the hosts, running beside the infrastructure."""

    def __init__(self, job: UpJob) -> None:
        self._forked = Forked(job, Phase.PREPARATION)
        self._fork = fork(self._forked.run, nice=NICE)

    def end(self) -> None:
        """End it early."""
        self._fork.send_signal(signal.SIGTERM)
        self._fork.wait()

    def outcome(self) -> PhaseOutcome:
        """Wait for its end and return its outcome, which does not affect the exit code: the hosts' own phase does the
        rest."""
        result = EngineResult(code=self._fork.wait() or 0, interrupted=False)
        return replace(self._forked.outcome(result), decides=False)


@contextmanager
def preparing(job: UpJob) -> Iterator[Preparation]:
    """Prepare the hosts during the block, and stop at its end."""
    preparation = Preparation(job)
    try:
        yield preparation
    finally:
        preparation.end()


def not_begun(side: Sequence[Phase], code: Exit) -> list[PhaseOutcome]:
    """Return the outcomes of phases that did not begin, with the exit code ``code`` as the reason."""
    return [PhaseOutcome(title=phase, code=code, seconds=None) for phase in side]
