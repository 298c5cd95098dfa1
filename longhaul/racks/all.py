"""The racks' part of ``up``: all machines at once, each at its own pace."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from longhaul.context import Context
from longhaul.engine.change import exit_code
from longhaul.exits import Exit
from longhaul.racks.inventory import machines
from longhaul.racks.rolling import play
from longhaul.racks.run import PREPARE, SITE
from longhaul.racks.text import to_text
from longhaul.racks.verdicts import Account

if TYPE_CHECKING:
    from components.model import Environment


def run_all(where: Context, environment: Environment, environ: Mapping[str, str], *, early: bool) -> Exit:
    """Play ``site.yml``, or ``early`` what needs nothing of the infrastructure. Last, after all that Ansible says of
    every task, come the verdicts of those machines that are not as they should be."""
    from components.model import plan

    result, document = play(where, environment, (PREPARE if early else SITE,), environ, api=not early)
    account = Account()
    if document is not None or result.code != 0:
        account.add(document, machines(environment, plan(environment)), code=result.code)
    unwell = {name: verdict for name, verdict in account.verdicts.items() if not verdict.state.well}
    if unwell:
        print(f"\n{to_text(where.env, 'run', Account(verdicts=unwell), colour=False)}")
        print(f"`longhaul rack --preflight --env {where.env}` looks at them, and changes nothing")
        sys.stdout.flush()
    return exit_code(result)
