"""``make lab``: everything from a bare machine to a working control plane, a step at a time.

Each step is idempotent, so the command can be interrupted anywhere and run again. When everything is in place already,
the command ends within seconds.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from types import FrameType

from components.model import ConfigurationError
from components.model.nodes.gpu_promises import has_gpus
from components.model.nodes.rdma import has_shared_rdma
from lab import depot, image, inotify, openvpn, packages, project, tools, up_record
from lab.hosts import has_gpu_stand_ins
from lab.longhaul_command import INTERRUPTED, StepFailedError, TerminatedError, longhaul
from lab.nvml import library
from lab.oidc import provider
from lab.oidc.company import PEOPLE, has_company
from lab.oidc.person import PERSON_VARIABLE
from lab.project import LabProject
from lab.start import start
from lab.state import LabError, LabState, lock, running_init
from lab.steps import LabStep, LabSteps
from longhaul.artifacts import image_contents
from longhaul.toolchain.errors import SetupError

SETTLE_S = 60.0
"""Seconds within which a new control plane must become healthy."""


def main(argv: list[str] | None = None) -> int:
    """Run the command. Return 0 when the environment is up and healthy, 1 when a step failed, 2 when the environment's
    file is wrong, and 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m lab.up", description=(__doc__ or "").split("\n\n")[0])
    project.add_arguments(parser)
    parser.add_argument(
        "--prepare", action="store_true", help="stop before `longhaul up`: the lab has the images and depot of the file"
    )
    options = parser.parse_args(argv)
    chosen = project.chosen(options)
    signal.signal(signal.SIGTERM, _interrupt)
    steps = LabSteps(log_dir=chosen.state.logs, prefix=f"{chosen.env}-")
    try:
        _require_root()
        with lock(chosen.state):
            prepare(chosen, steps)
            if not options.prepare:
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
        print(f"\n{interrupted(chosen.state)}", file=sys.stderr)
        return INTERRUPTED
    return 0


def interrupted(state: LabState) -> str:
    """Return the last line of output for an interrupted command."""
    return f"interrupted; `{state.make('lab')}` continues, `{state.make('lab-down')}` removes it"


def prepare(chosen: LabProject, steps: LabSteps) -> None:
    """Run the steps before the environment itself: start its lab, with the images and the depot that its file names. A
    running lab gets the images and the depot that it lacks."""
    environment = chosen.load()
    project.check_second(environment, chosen)
    if running_init(chosen.state) is None:
        inotify.check_room(project.watchers(environment))
    with steps.step("packages") as step:
        packages.ensure(log_dir=steps.log_dir, progress=step.say)
        if environment.vpn is not None:
            openvpn.ensure(log_dir=steps.log_dir, progress=step.say)
        company = provider.ensure(log_dir=steps.log_dir, progress=step.say) if has_company(environment) else None
        equipped = any(has_gpu_stand_ins(host) for host in environment.hosts)
        gpu_library = library.ensure(log_dir=steps.log_dir, progress=step.say) if equipped else None
    with steps.step("pinned tools") as step:
        tools.ensure(log_dir=steps.log_dir, progress=step.say)
    with steps.step("images") as step:
        sources = image.load_sources(versions=environment.versions.model_dump())
        baked = image.bake(log_dir=steps.log_dir, progress=step.say, sources=sources)
        step.note = baked.version
    with steps.step("depot") as step:
        wanted = image_contents.load(gpus=has_gpus(environment), rdma=has_shared_rdma(environment))
        filled = depot.ensure(log_dir=steps.log_dir, progress=step.say, wanted=wanted, spec=sources.spec)
    with steps.step("the lab's cloud") as step:
        parts = project.RootParts(
            node=baked.node,
            bare=baked.bare,
            gateway=baked.gateway,
            depot=filled,
            tools=tools.bin_dir(),
            company=company,
            gpu_library=gpu_library,
        )
        config = project.config(environment, chosen, parts)
        start(chosen.state, config, watchers=project.watchers(environment), say=step.say)


def bring_up(chosen: LabProject, steps: LabSteps) -> None:
    """Bring the environment up in its lab, and print the result."""
    read = up_record.what_it_reads(chosen)
    status = _status_of_what_stands(chosen, steps) if up_record.is_done(chosen, read) else ""
    if not status:
        with steps.step("longhaul up") as step:
            longhaul(chosen.path, chosen.env, step, "up", "--yes", "--", "--skip-preview", shown=True)
        with steps.step("longhaul status") as step:
            status = _healthy(chosen, step)
        up_record.note_done(chosen, read)
    print(f"\n{status}\n{steps.table()}\n\n{_try_next(chosen)}")


def _status_of_what_stands(chosen: LabProject, steps: LabSteps) -> str:
    """Return the status when all is healthy; else return an empty text, because ``longhaul up`` may repair the
    environment."""
    with steps.step("longhaul status") as step:
        try:
            status = _status(chosen, step)
        except StepFailedError:
            step.note = "not healthy"
            return ""
        step.note = "nothing was changed since the last `longhaul up`"
        return status


def _healthy(chosen: LabProject, step: LabStep) -> str:
    """Wait until all is healthy, and return the status. A load balancer sends nothing to a new server before its probes
    have succeeded."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        try:
            return _status(chosen, step)
        except StepFailedError:
            if time.monotonic() > deadline:
                raise
            step.say(f"waiting until `longhaul status` finds everything healthy, {SETTLE_S:.0f} s at most")


def _status(chosen: LabProject, step: LabStep) -> str:
    return longhaul(chosen.path, chosen.env, step, "status", shown=False)


def _try_next(chosen: LabProject) -> str:
    option = "" if chosen.path == project.PROJECT else f" --project {chosen.path}"
    kubectl = tools.bin_dir() / "kubectl"
    people = has_company(chosen.load())
    person = next(iter(PEOPLE))
    return "\n".join(
        (
            "Try:",
            f"  .venv/bin/longhaul status --env {chosen.env}{option}",
            f"  export KUBECONFIG=$(.venv/bin/longhaul kubeconfig --env {chosen.env}{option})",
            f"  {kubectl} get --raw '/readyz?verbose'",
            *([f"  {PERSON_VARIABLE}={person} .venv/bin/longhaul login --env {chosen.env}{option}"] if people else []),
            f"  .venv/bin/longhaul shell --env {chosen.env}{option} {chosen.env}-etcd-0",
            f"  {chosen.state.make('lab-down')}",
            "README.md has more to try.",
        )
    )


def _require_root() -> None:
    if os.geteuid() != 0:
        raise LabError("the lab needs root (namespaces, mounts, cgroups): run it again as root")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise TerminatedError


if __name__ == "__main__":
    sys.exit(main())
