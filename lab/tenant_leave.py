"""Takes a tenant out of its lab; the lab continues."""

from __future__ import annotations

from lab import control
from lab.longhaul_command import StepFailedError, longhaul
from lab.state import LabError, LabState, running_init
from lab.steps import LabSteps
from lab.tenants import host_of


def leave(state: LabState) -> None:
    """Destroy a tenant's resources in its lab's clouds, and have its operator's namespace removed. Do nothing for an
    environment with its own lab. If the tenant's lab has ended, its clouds have ended too, and only the tenant's record
    is removed.

    Raise :class:`LabError` when the destruction fails: the remaining resources would stay in the lab.
    """
    host = host_of(state)
    if host == state:
        return
    if running_init(state) is not None and state.enter.exists():
        _destroy(state, host)
    # The record is removed first: without the configuration, the recorded process would be taken for the tenant's own,
    # and ended.
    state.init_file.unlink(missing_ok=True)
    state.config_file.unlink(missing_ok=True)
    if running_init(host) is not None:
        control.request(host, "POST", "/refresh")


def _destroy(state: LabState, host: LabState) -> None:
    steps = LabSteps(log_dir=state.logs, prefix=f"{state.env}-")
    try:
        with steps.step("longhaul destroy") as step:
            step.show(f"destroying environment {state.env}, which is in the same lab as {host.env} (log: {step.log})")
            longhaul(state.root.parent, state.env, step, "destroy", "--yes", shown=True)
    except StepFailedError as error:
        again = state.make("lab-down")
        raise LabError(
            f"{error}\nSo environment {state.env} stays. To be rid of it: `{again}` again; where it is half made, "
            f"`{state.make('lab')}` to its end and then `{again}`; or end the whole lab, with environment {host.env} "
            f"in it: `{host.make('lab-down')}`"
        ) from error
