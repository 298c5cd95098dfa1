"""Guard of pools' sizes, which belong to the autoscaler and to operators, not to the program.

The program declares the size that a pool is made with and ignores it from then on. Some clouds set a group's size with
every other change, such as a tag's; the engine then sends the size in the state. ``longhaul up`` begins with a refresh,
after which that is the live size. Without a refresh the state's size is older, and a lower size would delete machines
that are in the middle of a job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding

from clouds.base.errors import CloudError
from components.control_plane.replacement import GuardRefusedError


def never_lower(
    resource: str, *, group: str, live: Callable[[], int | None], sent: Callable[[ResourceHookArgs], int | None]
) -> ResourceHookBinding:
    """Return a hook that refuses an update of a pool's group with a lower size than the live one.

    ``resource`` and ``group`` are the group's names in the program and in its cloud. ``live`` returns its size in the
    cloud, ``sent`` the size in the update; None when there is none.
    """

    async def before_update(args: ResourceHookArgs) -> None:
        size = sent(args)
        if size is None:
            return
        try:
            now = await asyncio.to_thread(live)
        except CloudError as error:
            raise GuardRefusedError(
                f"{group} stays as it is: its size is not known ({error}). Try again later."
            ) from error
        check(group, sent=size, live=now)

    return ResourceHookBinding(before_update=[ResourceHook(f"{resource}-keeps-its-size", before_update)])


def check(group: str, *, sent: int, live: int | None) -> None:
    """Raise ``GuardRefusedError`` when an update would lower a group's size."""
    if live is None or sent >= live:
        return
    raise GuardRefusedError(
        f"{group} stays as it is: it has {live} machines now, and this update would leave {sent}.\n"
        "The state has an older size: run `longhaul up` again, which reads the clouds first, or `pulumi up --refresh`. "
        "To make the pool smaller, drain its nodes and resize the group in its cloud."
    )
