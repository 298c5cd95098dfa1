"""Asks gateways and hosts over SSH whether they answer at all, which of their services are ill, and what a gateway's
tunnels have carried."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longhaul.racks.ansible_script import CHECKOUT
from longhaul.racks.inventory import ANSWER_S, GATEWAYS, OnpremMachine, Reach
from longhaul.racks.ssh import ssh_words
from longhaul.racks.verdicts import WRONG_KEY

UNITS = CHECKOUT / "playbooks" / "roles" / "preflight" / "files" / "units.sh"
"""Script that names ill services, a line each."""
UNHEALTHY = "unhealthy "
"""Beginning of its lines."""
TRAFFIC = CHECKOUT / "playbooks" / "roles" / "gateway" / "files" / "traffic.sh"
"""Script that counts what a gateway's tunnels carry, a line each."""
CARRIED = "carried"
"""First word of its lines."""
GATEWAY_UNITS = ("longhaul-gateway-firewall.service", "strongswan.service")
"""Units that run on a gateway (playbooks/roles/gateway). Nothing else says that they were stopped; of a host, its Node
does."""
LIMIT_S = ANSWER_S + 2.0
"""Time limit in seconds for connection and script together."""
AT_ONCE = 64
MOST = 256
"""Largest number of machines that are asked. If more are silent, they have one cause."""
SSH_FAILED = 255
"""Exit code of ``ssh`` when it has no connection (ssh(1))."""
DENIED = "Permission denied"
"""Message of OpenSSH when a machine answers, and lets nobody in."""


@dataclass(frozen=True, kw_only=True)
class Knock:
    """Answer of a machine."""

    reached: bool | None
    """None when nobody could ask."""
    reason: str = ""
    """Reason why there is no answer, or not all of one."""
    troubles: tuple[str, ...] = ()
    """Services that are ill, and why."""
    carried: tuple[tuple[str, int, int], ...] | None = None
    """Tunnels of a gateway, each with the bytes that came in and went out since its keys were last renewed; None when
    nobody counted."""


def knock_all(machines: Iterable[OnpremMachine], reach: Reach) -> dict[str, Knock]:
    """Ask all machines at once, and return their answers by name; those that :data:`MOST` leaves out are missing."""
    chosen = list(machines)[:MOST]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return dict(
            zip(
                (machine.name for machine in chosen),
                pool.map(lambda machine: knock(machine, reach), chosen),
                strict=True,
            )
        )


def knock(machine: OnpremMachine, reach: Reach) -> Knock:
    """Ask one machine. It must answer now, whatever ``reach`` says."""
    if not machine.host_key:
        return Knock(reached=None, reason=f"its SSH host key is not pinned ({machine.pin_at})")
    argv = ["ssh", "-o", "BatchMode=yes", *ssh_words(machine, reach, patient=False), "sh", "-s"]
    scripts = [UNITS]
    if machine.group == GATEWAYS:
        argv += ["--", *GATEWAY_UNITS]
        scripts.insert(0, TRAFFIC)  # the other one may end the shell
    given = "".join(script.read_text(encoding="utf-8") for script in scripts)
    try:
        done = subprocess.run(argv, input=given, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return Knock(reached=False, reason=f"no answer within {LIMIT_S:.0f} s")
    except OSError as error:
        return Knock(reached=None, reason=str(error))
    return answer(done.returncode, done.stdout, done.stderr)


def answer(code: int, stdout: str, stderr: str) -> Knock:
    """Return what ``ssh``'s result means."""
    last = next(reversed(stderr.strip().splitlines()), f"ssh ended with {code}").strip()
    if code != SSH_FAILED:
        lines = stdout.splitlines()
        troubles = tuple(line.removeprefix(UNHEALTHY) for line in lines if line.startswith(UNHEALTHY))
        unseen = (f"its services cannot be looked at: {last}",) if code else ()
        return Knock(reached=True, troubles=(*troubles, *unseen), carried=_carried(lines))
    if WRONG_KEY in stderr:
        return Knock(reached=True, troubles=("its SSH host key is not the pinned one: find out who answers, and why",))
    return Knock(reached=DENIED in stderr, reason=last)


def _carried(lines: Iterable[str]) -> tuple[tuple[str, int, int], ...] | None:
    words = [line.split() for line in lines if line == CARRIED or line.startswith(f"{CARRIED} ")]
    return tuple((each[1], int(each[2]), int(each[3])) for each in words if len(each) == 4) if words else None
