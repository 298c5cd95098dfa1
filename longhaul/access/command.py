"""``longhaul access``: show who has access, write a profile for people who sign in, revoke or restore a person's
access."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.confirm import confirm
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.access.steps import AccessRun

HELP = "show who gets in, hand out a profile, revoke a person's access"
REST = ""
OF_PEOPLE = ("revoke", "restore")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``access``."""
    parser.add_argument(
        "verb",
        choices=("show", "profile", "apply", *OF_PEOPLE),
        help="show: issuers, groups, who is refused, and whether each API server has these lists; apply: make each "
        "API server fetch them now; profile: print the file with which people sign in; revoke: have every API server "
        "refuse a person; restore: end a person's revocation",
    )
    parser.add_argument(
        "user", metavar="USER", nargs="?", help="the person's name in the audit log, such as corp:alice"
    )
    parser.add_argument(
        "--keep-connections",
        action="store_true",
        help="with revoke: do not restart API servers, so that the person's open requests continue, a watch for up to "
        "an hour",
    )
    parser.add_argument("--yes", "-y", action="store_true", help="with revoke: do not ask for the person's name")
    parser.add_argument("--json", action="store_true", help="with show: for programs")


def run(invocation: Invocation) -> int:
    """Run the verb."""
    options = invocation.options
    where = context(invocation)
    environment = where.project.load(where.env)
    _require_user(environment, options)
    enter_lab(where, environment, invocation)
    if options.verb == "profile":
        from longhaul.cluster.profile import profile_of

        port = where.lab_with_port.port() if where.lab_with_port else None
        print(profile_of(environment, lab_port=port, now=datetime.now(UTC)).text(), end="")
        return Exit.OK
    if options.verb in OF_PEOPLE:
        return _change(where, environment, options)
    if options.verb == "apply":
        _steps(where, environment).apply()
    return _show(environment, options)


def _require_user(environment: Environment, options: argparse.Namespace) -> None:
    from longhaul.access.people import require_person

    if (options.verb in OF_PEOPLE) != (options.user is not None):
        wanted = "needs the name of a person" if options.verb in OF_PEOPLE else "takes no name"
        raise CommandError(f"longhaul access {options.verb} {wanted}", code=Exit.USAGE)
    if options.verb == "revoke":
        require_person(environment, options.user)


def _show(environment: Environment, options: argparse.Namespace) -> int:
    """Print issuers, revoked people and API servers. Return exit code 0 only when each API server uses the current list
    and issuers."""
    from longhaul.access.people import people_of
    from longhaul.access.show import document, text, views
    from longhaul.report.json_output import document as rendered

    people = people_of(environment)
    revoked = people.read()
    servers = views(people, revoked)
    if options.json:
        print(rendered(document(environment, revoked, servers)))
    else:
        print("\n".join(text(environment, revoked, servers)))
    return Exit.OK if all(server.is_current for server in servers) else Exit.FAILED


def _change(where: Context, environment: Environment, options: argparse.Namespace) -> int:
    """Revoke or restore a person's access."""
    from longhaul.cluster.identity import caller_name

    steps = _steps(where, environment)
    if options.verb == "restore":
        return _restore(steps, options.user)
    # The vault is read first: its client knows the caller's identity only after that.
    steps.people.read()
    lines = _consequences(options.user, keep=options.keep_connections)
    confirm(lines, what="revoke their access", name=options.user, noun="person", yes=options.yes)
    steps.revoke(options.user, by=caller_name(environment), keep_connections=options.keep_connections)
    again = f"longhaul access restore --env {environment.name} '{options.user}'"
    say(f"{options.user} is refused by every API server; `{again}` ends that")
    return Exit.OK


def _steps(where: Context, environment: Environment) -> AccessRun:
    from longhaul.access.people import people_of
    from longhaul.access.steps import AccessRun
    from longhaul.cluster.api_server_lock import ending_in

    return AccessRun(
        people=people_of(environment),
        tell=say,
        now=lambda: datetime.now(UTC),
        clock=time.monotonic,
        turn=lambda: ending_in(where, environment, say),
    )


def _restore(steps: AccessRun, user: str) -> int:
    if steps.people.read().find(user) is None:
        raise CommandError(f"the access of {user!r} is not revoked, so nothing was done", code=Exit.USAGE)
    steps.restore(user)
    say(f"{user} can sign in again with a token of their company")
    return Exit.OK


def _consequences(user: str, *, keep: bool) -> list[str]:
    """Return a line for each step of the run, and for what people have to do themselves afterwards."""
    ended = (
        "- open requests continue: a watch for up to an hour, `kubectl exec` until it ends"
        if keep
        else "- open requests end: the API servers are restarted one after the other, so watches and `kubectl exec` "
        "of others are interrupted too"
    )
    return [
        f"the access of {user} is revoked:",
        "- every API server refuses them, whatever token they present, until it is restored",
        ended,
        "this does not end what they run in the cluster, tokens of service accounts that they requested (24 hours at "
        "most), or what they know: Secrets, SSH keys, an administrator's certificate",
    ]
