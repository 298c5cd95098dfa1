"""``make lab``: everything from a bare machine to a working control plane, a step at a time.

Each step is idempotent, so the command can be interrupted anywhere and run again; where all is in place it says so
within seconds.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from components.model import ConfigurationError
from components.model.gpus import has_gpus
from lab import depot, image, packages, project, tools
from lab.project import LabProject
from lab.start import start
from lab.state import LabError, lock
from lab.steps import Step, Steps
from longhaul.depot import contents
from longhaul.toolchain.errors import SetupError

INTERRUPTED = 130
"""Exit code of what somebody interrupted."""
SETTLE_S = 60.0
"""How long a control plane that was made may take to be well, seconds."""


class TerminatedError(KeyboardInterrupt):
    """This process alone was asked to end."""


class StepFailedError(Exception):
    """A command of a step failed; its log says why."""


def main(argv: list[str] | None = None) -> int:
    """0 when the environment is up and well, 1 when a step failed, 2 when the environment's file is wrong, 130 when
    interrupted."""
    parser = argparse.ArgumentParser(prog="python -m lab.up", description=(__doc__ or "").split("\n\n")[0])
    project.add_arguments(parser)
    chosen = project.chosen(parser.parse_args(argv))
    signal.signal(signal.SIGTERM, _interrupt)
    steps = Steps(log_dir=chosen.state.logs, prefix=f"{chosen.env}-")
    try:
        _require_root()
        with lock(chosen.state):
            bring_up(chosen, steps)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    except (LabError, SetupError, StepFailedError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or 'the operating system'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; `make lab` goes on where this stopped, `make lab-down` removes it", file=sys.stderr)
        return INTERRUPTED
    return 0


def bring_up(chosen: LabProject, steps: Steps) -> None:
    """All steps, and a last word."""
    environment = chosen.load()
    with steps.step("packages") as step:
        packages.ensure(log_dir=steps.log_dir, progress=step.say)
    with steps.step("pinned tools") as step:
        tools.ensure(log_dir=steps.log_dir, progress=step.say)
    with steps.step("images") as step:
        baked = image.bake(log_dir=steps.log_dir, progress=step.say)
        step.note = baked.version
    with steps.step("depot") as step:
        wanted = contents.load(gpus=has_gpus(environment))
        filled = depot.ensure(log_dir=steps.log_dir, progress=step.say, wanted=wanted)
    with steps.step("the lab's cloud") as step:
        parts = project.Parts(
            node=baked.node, bare=baked.bare, gateway=baked.gateway, depot=filled, tools=tools.bin_dir()
        )
        config = project.config(environment, chosen, parts)
        start(chosen.state, config, watchers=project.watchers(environment), say=step.say)
    with steps.step("longhaul up") as step:
        _longhaul(chosen, step, "up", "--yes", "--", "--skip-preview", "--color=never")
    with steps.step("longhaul status") as step:
        status = _well(chosen, step)
    print(f"\n{status}\n{steps.table()}\n\n{_try_next(chosen)}")


def _well(chosen: LabProject, step: Step) -> str:
    """The status once all is well: a load balancer sends nothing to a new server before its probes have found it."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        try:
            return _longhaul(chosen, step, "status")
        except StepFailedError:
            if time.monotonic() > deadline:
                raise
            step.say("not well yet")


def _longhaul(chosen: LabProject, step: Step, command: str, *arguments: str) -> str:
    """Run ``longhaul`` and return what it printed; lines that tell of a machine's progress are shown as they come."""
    executable = str(Path(sys.executable).with_name("longhaul"))
    words = [executable, command, "--project", str(chosen.path), "--env", chosen.env, *arguments]
    lines: list[str] = []
    interrupted: KeyboardInterrupt | None = None
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=chosen.path
    ) as process:
        output = iter(process.stdout or ())
        while True:
            try:
                line = next(output, None)
            except KeyboardInterrupt as error:
                interrupted = error
                _pass_on(error, process, step)
                continue
            if line is None:
                break
            lines.append(line.rstrip("\n"))
            (step.say if _tells(line) else step.write)(line.strip())
    if interrupted:
        raise interrupted
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode != 0:
        tail = "\n  ".join(line for line in lines[-25:] if line.strip())
        raise StepFailedError(f"longhaul {command} ended with {process.returncode} (all of it: {step.log}):\n  {tail}")
    return "\n".join(lines)


def _pass_on(interrupt: KeyboardInterrupt, process: subprocess.Popen[str], step: Step) -> None:
    """The terminal's Ctrl-C has reached the engine by itself, and a second one would break it off; what ended this
    process alone has not."""
    step.say("interrupted: the engine finishes what it is doing")
    if isinstance(interrupt, TerminatedError):
        process.send_signal(signal.SIGINT)


def _tells(line: str) -> bool:
    """Whether a line is worth the user's eyes meanwhile: a phase begins or ends, a machine became ready."""
    if line.startswith("longhaul: "):
        return True
    return "longhaul:Readiness" in line and (" created" in line or " updated" in line)


def _try_next(chosen: LabProject) -> str:
    option = "" if chosen.path == project.PROJECT else f" --project {chosen.path}"
    kubectl = tools.bin_dir() / "kubectl"
    return "\n".join(
        (
            "Try:",
            f"  .venv/bin/longhaul status --env {chosen.env}{option}",
            f"  export KUBECONFIG=$(.venv/bin/longhaul kubeconfig --env {chosen.env}{option})",
            f"  {kubectl} get --raw '/readyz?verbose'",
            f"  .venv/bin/longhaul shell --env {chosen.env}{option} {chosen.env}-etcd-0",
            f"  make lab-down{'' if chosen.env == 'lab' else f' ENV={chosen.env}'}",
        )
    )


def _require_root() -> None:
    if os.geteuid() != 0:
        raise LabError("the lab needs root (namespaces, mounts, cgroups): run it again as root")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise TerminatedError


if __name__ == "__main__":
    sys.exit(main())
