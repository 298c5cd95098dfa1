"""Asks gateways and hosts over SSH whether they answer, which of their services have failed, and how many bytes a
gateway's tunnels have carried."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longhaul.racks.ansible_script import CHECKOUT
from longhaul.racks.inventory import GATEWAYS, OnpremMachine, Reach
from longhaul.racks.ssh import ssh_words
from longhaul.racks.verdicts import WRONG_KEY
from longhaul.status.time_limits import RACK_MACHINE_S

UNITS = CHECKOUT / "playbooks" / "roles" / "preflight" / "files" / "units.sh"
"""Script that prints failed services, one line each."""
UNHEALTHY = "unhealthy "
"""Prefix of the lines that :data:`UNITS` prints."""
TRAFFIC = CHECKOUT / "playbooks" / "roles" / "gateway" / "files" / "traffic.sh"
"""Script that prints the bytes carried by a gateway's tunnels, one line each."""
CARRIED = "carried"
"""First word of the lines that :data:`TRAFFIC` prints."""
GATEWAY_UNITS = ("longhaul-gateway-firewall.service", "strongswan.service")
"""Units that must run on a gateway (playbooks/roles/gateway), also on one that was never set up. The script knows by
itself what must run on a machine that was."""
AT_ONCE = 64
MOST = 256
"""Maximum number of machines that are asked. If more are silent, they have a common cause."""
SSH_FAILED = 255
"""Exit code of ``ssh`` without a connection (ssh(1))."""
DENIED = "Permission denied"
"""OpenSSH's message when a machine answers, but accepts no login."""


@dataclass(frozen=True, kw_only=True)
class SshProbe:
    """Answer of a machine over SSH."""

    reached: bool | None
    """True when the machine was reached; None when nobody could ask."""
    reason: str = ""
    """Reason why the answer is missing or incomplete."""
    troubles: tuple[str, ...] = ()
    """Failed services, each with the reason."""
    carried: tuple[tuple[str, int, int], ...] | None = None
    """Tunnels of a gateway, each with the bytes received and sent since its keys were last renewed; None when nothing
    was counted."""


def probe_all(machines: Iterable[OnpremMachine], reach: Reach) -> dict[str, SshProbe]:
    """Ask all machines at once, and return their answers by name; machines beyond :data:`MOST` are left out."""
    chosen = list(machines)[:MOST]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return dict(
            zip(
                (machine.name for machine in chosen),
                pool.map(lambda machine: probe(machine, reach), chosen),
                strict=True,
            )
        )


def probe(machine: OnpremMachine, reach: Reach) -> SshProbe:
    """Ask one machine. It must answer now, even when ``reach`` allows waiting."""
    if not machine.host_key:
        return SshProbe(reached=None, reason=f"its SSH host key is not pinned ({machine.pin_at})")
    argv = ["ssh", "-o", "BatchMode=yes", *ssh_words(machine, reach, patient=False), "sh", "-s"]
    scripts = [UNITS]
    if machine.group == GATEWAYS:
        argv += ["--", *GATEWAY_UNITS]
        scripts.insert(0, TRAFFIC)  # the first script may end the shell
    given = "".join(script.read_text(encoding="utf-8") for script in scripts)
    try:
        done = subprocess.run(argv, input=given, capture_output=True, text=True, timeout=RACK_MACHINE_S, check=False)
    except subprocess.TimeoutExpired:
        return SshProbe(reached=False, reason=f"no answer within {RACK_MACHINE_S:.0f} s")
    except OSError as error:
        return SshProbe(reached=None, reason=str(error))
    return answer(done.returncode, done.stdout, done.stderr)


def answer(code: int, stdout: str, stderr: str) -> SshProbe:
    """Return the meaning of ``ssh``'s result."""
    last = next(reversed(stderr.strip().splitlines()), f"ssh ended with {code}").strip()
    if code != SSH_FAILED:
        lines = stdout.splitlines()
        troubles = tuple(line.removeprefix(UNHEALTHY) for line in lines if line.startswith(UNHEALTHY))
        unseen = (f"its services cannot be looked at: {last}",) if code else ()
        return SshProbe(reached=True, troubles=(*troubles, *unseen), carried=_carried(lines))
    if WRONG_KEY in stderr:
        return SshProbe(
            reached=True, troubles=("its SSH host key is not the pinned one: find out which machine answers, and why",)
        )
    return SshProbe(reached=DENIED in stderr, reason=last)


def _carried(lines: Iterable[str]) -> tuple[tuple[str, int, int], ...] | None:
    words = [line.split() for line in lines if line == CARRIED or line.startswith(f"{CARRIED} ")]
    return tuple((each[1], int(each[2]), int(each[3])) for each in words if len(each) == 4) if words else None
