"""The lock for restarting API servers one after the other: two runs at once could stop the last server that answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from contract.kubernetes.connection import ApiError
from longhaul.cluster.locks import Words, sole_run
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from components.model import Environment
    from contract.kubernetes.api import Api
    from longhaul.project.context import Context

LEASE = "longhaul-rotate"
"""Name of the lease."""
WORDS = Words(
    begins="to rotate a key or to restart API servers",
    goes_on="a key is being rotated, or API servers are restarted,",
)


@contextmanager
def locked_for_rotation(api: Api) -> Iterator[Callable[[], bool]]:
    """Hold the lock during the block, like :func:`longhaul.cluster.locks.sole_run`."""
    with sole_run(api, LEASE, WORDS) as is_held:
        yield is_held


@contextmanager
def locked_to_end_connections(
    api: AbstractContextManager[Api], *, refuse_up: Callable[[], None], tell: Callable[[str], None]
) -> Iterator[None]:
    """Hold the lock during the block, which restarts API servers to end connections from before a list changed. Raise
    ``CommandError`` when a rotation, another such run or ``longhaul up`` is at work. When the API does not answer, the
    block runs without the lock: no rotation can run then, and the API servers' refusals do not depend on the API."""
    with ExitStack() as turn:
        try:
            refuse_up()
            turn.enter_context(locked_for_rotation(turn.enter_context(api)))
        except ApiError as error:
            if not error.passing:
                raise CommandError(_later(str(error))) from None
            tell(f"{error}: so no key is being rotated, and API servers are restarted without waiting")
        except CommandError as error:
            raise CommandError(_later(str(error)), code=error.code) from None
        yield


def ending_in(where: Context, environment: Environment, tell: Callable[[str], None]) -> AbstractContextManager[None]:
    """Return the context manager :func:`locked_to_end_connections` for an environment."""
    from longhaul.cluster.api_access import api_of

    return locked_to_end_connections(
        api_of(where, environment, os.environ), refuse_up=lambda: refuse_up(where), tell=tell
    )


def refuse_up(where: Context) -> None:
    """Raise ``CommandError`` while ``longhaul up`` changes the environment. An ``up`` that begins later waits by
    itself: its guards remove an API server only while another API server answers."""
    from longhaul.engine.engine import engine_for
    from longhaul.engine.recovery import refuse_at_work

    try:
        engine = engine_for(where)
    except CommandError:
        # Without an engine or its state here, this cannot be known; nothing else in the command needs them.
        return
    refuse_at_work(engine)


def _later(why: str) -> str:
    return (
        f"every API server refuses new requests, but requests that were open before continue: {why}. Then run "
        "this again"
    )
