"""Control socket of the daemon: a unix socket in the state folder, open to root only."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web

from components.model import ConfigurationError
from lab.hypervisor import LabHypervisor
from lab.state import LabError, LabState
from lab.tenants import host_of

_ANSWER_S = 10.0
"""Seconds that the daemon may take to answer a GET."""
_ACT_S = 120.0
"""Seconds that the daemon may take for other requests, which wait for work in progress."""
ACTIONS = ("off", "on", "cut", "reset")
TUNNEL_ACTIONS = ("cut", "restore")
POLICY_ACTIONS = ("on", "off", "remediate")


class Switches(Protocol):
    """Switches of the clouds that a test or a user operates."""

    def warn_spot(self, instance_id: str, notice: str) -> None:
        """Send a notice to a spot instance; raise LookupError when no spot instance has this id."""

    def limit_machines(self, kind: str, zone: str, count: int | None, error: str) -> None:
        """Limit how many machines of a type a cloud has, and set the error of requests beyond the limit; None lifts the
        limit. Raise ValueError for an error that the lab does not have."""

    def govern(self, action: str) -> None:
        """Turn the subscription's policies on or off, or let them remediate."""


@contextlib.contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Yield a name of ``path`` that fits a socket address (107 characters, unix(7)), however deep the folder is."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def request(state: LabState, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send a request to the daemon of the lab that the environment is in. Raise OSError when no daemon listens, and
    :class:`LabError` with the daemon's message when the daemon refuses."""
    with socket.socket(socket.AF_UNIX) as connection, short_path(host_of(state).control_socket) as name:
        connection.settimeout(_ANSWER_S if method == "GET" else _ACT_S)
        connection.connect(name)
        asked = http.client.HTTPConnection("lab")
        asked.sock = connection
        asked.request(method, path, body=json.dumps(body or {}), headers={"Content-Type": "application/json"})
        try:
            answer = asked.getresponse()
            content = json.loads(answer.read())
        except (http.client.HTTPException, ValueError) as error:  # the daemon died while it answered
            raise ConnectionError("the daemon broke off its answer") from error
    if answer.status != 200:
        raise LabError(content.get("error", f"the daemon answered {answer.status}"))
    return dict(content)


def listener(state: LabState) -> socket.socket:
    """Make the daemon's listening socket, in place of a dead daemon's socket."""
    state.control_socket.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    with short_path(state.control_socket) as name:
        listening.bind(name)
    state.control_socket.chmod(0o600)
    listening.listen(16)
    return listening


def application(
    hypervisor: LabHypervisor, *, env: str, refresh: Callable[[], Awaitable[None]], switches: Switches
) -> web.Application:
    """Return the control application: ``GET /status``, ``POST /power`` ({machine, action}), ``POST /tunnel`` ({name,
    action}), ``POST /spot`` ({machine, notice}), ``POST /capacity`` ({type, count, zone, error}), ``POST /policy``
    ({action}), and ``POST /refresh``, which reads the environment's racks and the lab's tenants again."""

    async def status(_: web.Request) -> web.Response:
        return web.json_response({"ready": True, "env": env, "pid": os.getpid(), **hypervisor.report()})

    async def power(asked: web.Request) -> web.Response:
        body = await asked.json()
        machine, action = body.get("machine"), body.get("action")
        if action not in ACTIONS:
            return web.json_response({"error": f"power: {action!r} is none of {', '.join(ACTIONS)}"}, status=400)
        try:
            await hypervisor.power(machine, action)
        except KeyError:
            return web.json_response({"error": f"there is no machine {machine!r} in the lab of {env}"}, status=404)
        return web.json_response({})

    async def tunnel(asked: web.Request) -> web.Response:
        body = await asked.json()
        acts = {"cut": hypervisor.cut, "restore": hypervisor.restore}
        if body.get("action") not in acts:
            return web.json_response({"error": f"tunnel: {body.get('action')!r} is none of cut, restore"}, status=400)
        try:
            await acts[body["action"]](str(body.get("name", "")))
        except LookupError as error:
            return web.json_response({"error": str(error.args[0])}, status=404)
        return web.json_response({})

    async def read_again(_: web.Request) -> web.Response:
        try:
            await refresh()
        except (ConfigurationError, LabError, OSError) as error:
            return web.json_response({"error": f"nothing was changed: {error}"}, status=400)
        return web.json_response({})

    app = web.Application()
    app.router.add_get("/status", status)
    app.router.add_post("/power", power)
    app.router.add_post("/tunnel", tunnel)
    app.router.add_post("/spot", partial(_spot, switches))
    app.router.add_post("/capacity", partial(_capacity, switches))
    app.router.add_post("/policy", partial(_policy, switches))
    app.router.add_post("/refresh", read_again)
    return app


async def _spot(switches: Switches, asked: web.Request) -> web.Response:
    body = await asked.json()
    try:
        switches.warn_spot(str(body.get("machine", "")), str(body.get("notice", "")))
    except LookupError as error:
        return web.json_response({"error": str(error.args[0])}, status=404)
    return web.json_response({})


async def _capacity(switches: Switches, asked: web.Request) -> web.Response:
    body = await asked.json()
    count = body.get("count")
    try:
        if not (count is None or (isinstance(count, int) and count >= 0)):
            raise ValueError(f"capacity: {count!r} is not a number of machines, and not null, which lifts the limit")
        switches.limit_machines(str(body.get("type", "")), str(body.get("zone", "")), count, str(body.get("error", "")))
    except ValueError as error:
        return web.json_response({"error": str(error)}, status=400)
    return web.json_response({})


async def _policy(switches: Switches, asked: web.Request) -> web.Response:
    action = (await asked.json()).get("action")
    if action not in POLICY_ACTIONS:
        return web.json_response({"error": f"policy: {action!r} is none of {', '.join(POLICY_ACTIONS)}"}, status=400)
    switches.govern(action)
    return web.json_response({})
