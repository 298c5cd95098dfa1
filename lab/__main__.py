"""``.venv/bin/python -m lab``: brings up the lab alone, without tools, images and cluster; ``make lab`` brings up
everything."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from lab import capture, control
from lab.config import LabConfig
from lab.drill import command as drill_command
from lab.longhaul_command import INTERRUPTED
from lab.machine_commands import entering
from lab.start import start
from lab.state import InitRecord, LabError, LabState, init_record, lock, loopback_port, running_init
from lab.teardown import down
from lab.tenants import host_of, part_of, tenants_of

_DOWN = 3
"""Exit code of ``status`` when the lab is not running, as the LSB defines it for services."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    common = argparse.ArgumentParser(add_help=False)
    usual = os.environ.get("LONGHAUL_ENV")
    common.add_argument("--env", default=usual, required=not usual, help="environment (default: LONGHAUL_ENV)")
    common.add_argument("--state-root", type=Path, help="folder of all labs' state (default: .lab in the project)")
    verbs = parser.add_subparsers(dest="verb", required=True)
    _add_start(verbs.add_parser("start", parents=[common], help="start the lab, without any cloud resource"))
    verb = verbs.add_parser("down", parents=[common], help="end the lab and remove its state")
    verb.add_argument("--all", action="store_true", help="remove its logs too")
    verb = verbs.add_parser(
        "status", parents=[common], help="show the lab's state; exit code 0 up, 1 not healthy, 3 down"
    )
    verb.add_argument("--json", action="store_true")
    verb = verbs.add_parser("shell", parents=[common], help="a shell, or a command, as root in a machine")
    verb.add_argument("machine")
    verb.add_argument("command", nargs="*", metavar="-- COMMAND", help="default: a login shell")
    verb = verbs.add_parser("power", parents=[common], help="a machine's power switch")
    verb.add_argument("machine")
    verb.add_argument("action", choices=control.ACTIONS, help="off is orderly; cut and reset are not")
    verb = verbs.add_parser("tunnel", parents=[common], help="cut a gateway, or one tunnel, off the internet")
    verb.add_argument("name", metavar="GATEWAY[/TUNNEL]", help="names as in `status`; GATEWAY/GATEWAY works too")
    verb.add_argument("action", choices=control.TUNNEL_ACTIONS)
    verb = verbs.add_parser("policy", parents=[common], help="a company's policies on the lab's Azure subscription")
    verb.add_argument("action", choices=control.POLICY_ACTIONS, help="remediate: on, also for what exists")
    verb = verbs.add_parser(
        "capture",
        parents=[common],
        help="show the traffic on the internet; exit code 1 when any between sites is in plain text",
    )
    verb.add_argument("--seconds", type=float, default=10.0, help="length without a command (default: %(default)g)")
    verb.add_argument("--json", action="store_true")
    verb.add_argument(
        "command",
        nargs="*",
        metavar="-- COMMAND",
        help="show the traffic while COMMAND runs; exit code 1 also when it fails, or nothing passes between sites",
    )
    drill_command.add_arguments(
        verbs.add_parser("drill", parents=[common], help="inject faults under load, and judge what was lost")
    )
    return parser


def _add_start(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--rootfs", type=Path, required=True, help="root file system of machines whose image is not named"
    )
    verb.add_argument(
        "--bare-rootfs", type=Path, metavar="PATH", help="root file system of the racks' machines (default: ROOTFS)"
    )
    verb.add_argument(
        "--gateway-rootfs", type=Path, metavar="PATH", help="root file system of the clouds' VPN gateways"
    )
    verb.add_argument("--depot", type=Path, metavar="FOLDER", help="the folder that the depot serves")
    verb.add_argument("--region", action="append", default=[], metavar="NAME", help="a region of AWS")
    verb.add_argument("--stack", type=Path, metavar="FILE", help="the environment's stack file, for its racks")
    verb.add_argument("--image", action="append", default=[], metavar="ID=PATH", help="root file system of an image id")
    verb.add_argument("--operators", required=True, metavar="RANGE", help="range of the operators' addresses")
    verb.add_argument("--supernet", required=True, metavar="RANGE", help="the environment's whole private range")
    verb.add_argument(
        "--api-address", default="", metavar="ADDRESS:PORT", help="the address to which the loopback port leads"
    )
    verb.add_argument("--tools", default="", metavar="FOLDER", help="pinned tools, for the operator's PATH")
    verb.add_argument("--cloud", default="lab.cloud.app:LabClouds", help=argparse.SUPPRESS)
    verb.add_argument("--boot-timeout", type=float, default=600.0, metavar="SECONDS")
    verb.add_argument(
        "--delays", type=float, default=0.0, metavar="FACTOR", help="share of the clouds' own delays (default: 0, none)"
    )


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    words, command = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    options = _parser().parse_args(words)
    if command:
        options.command = [*getattr(options, "command", []), *command]
    try:
        return _run(options)
    except LabError as error:
        sys.stderr.write(f"lab: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nlab: interrupted; the same command goes on where this stopped\n")
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    state = LabState.of(options.env, root=options.state_root)
    if options.verb == "start":
        with lock(state):
            start(state, _config(options))
        return 0
    if options.verb == "down":
        with lock(state):
            down(state, logs=options.all)
        return 0
    if options.verb == "status":
        return _status(state, as_json=options.json)
    if options.verb == "drill":
        _require_up(state)
        return drill_command.run_command(state, options.names, long=options.long, folder=options.report)
    if options.verb == "shell":
        shell(state, options.machine, options.command)
    record = _require_up(state)
    if options.verb == "capture":
        return _capture(state, record, options)
    if options.verb == "policy":
        control.request(state, "POST", "/policy", {"action": options.action})
        return 0
    if options.verb == "tunnel":
        control.request(state, "POST", "/tunnel", {"name": options.name, "action": options.action})
        return 0
    control.request(state, "POST", "/power", {"machine": options.machine, "action": options.action})
    return 0


def _capture(state: LabState, record: InitRecord, options: argparse.Namespace) -> int:
    if options.command:
        captured = capture.capture_while(record, options.command)
    else:
        captured = capture.capture(record, seconds=options.seconds)
    status = control.request(state, "GET", "/status")
    traffic = capture.summary(captured.counts, status, seconds=captured.seconds)
    sys.stdout.write(json.dumps(traffic, indent=1) + "\n" if options.json else capture.summary_text(traffic))
    unproven = bool(options.command) and (captured.exit_code != 0 or not traffic["sealed_packets"])
    return 1 if traffic["in_the_clear"] or unproven else 0


def _config(options: argparse.Namespace) -> LabConfig:
    images = dict(_image(text) for text in options.image)
    return LabConfig(
        rootfs=str(options.rootfs.resolve()),
        bare_rootfs=_path(options.bare_rootfs),
        gateway_rootfs=_path(options.gateway_rootfs),
        depot=_path(options.depot),
        regions=tuple(options.region),
        stack=_path(options.stack),
        operators=options.operators,
        supernet=options.supernet,
        api_address=options.api_address,
        port=loopback_port(options.env),
        images=images,
        tools=options.tools,
        cloud=options.cloud,
        boot_timeout_s=options.boot_timeout,
        delays=options.delays,
    )


def _path(path: Path | None) -> str:
    return "" if path is None else str(path.resolve())


def _image(text: str) -> tuple[str, str]:
    name, _, path = text.rpartition("=")
    if not name:
        raise LabError(f"--image {text!r}: write ID=PATH")
    return name, str(Path(path).resolve())


def _require_up(state: LabState) -> InitRecord:
    record = running_init(state)
    if record is None:
        raise LabError(f"the lab of environment {state.env} is not running: {state.make('lab')}")
    return record


def status(state: LabState) -> dict[str, Any]:
    """Return the lab's state: ``init``, ``daemon`` and, when the daemon answers, machines, networks, load balancers,
    gateways with their tunnels, and cuts. For a tenant return only its part, otherwise the whole lab."""
    record = init_record(state)
    alive = record is not None and record.alive()
    host = host_of(state)
    report: dict[str, Any] = {
        "env": state.env,
        "lab": host.env,
        "beside": [tenant.env for tenant in tenants_of(state)],
        "init": {"pid": record.pid if record else None, "running": alive},
        "daemon": {"running": False},
        "port": record.port if record else None,
    }
    if alive:
        try:
            answer = control.request(state, "GET", "/status")
            report["daemon"] = {"running": True, "pid": answer.pop("pid")}
            part = answer if host == state else part_of(answer, LabConfig.read(state).plan(state.env).supernet)
            report = {**part, **report}
        except (OSError, LabError) as error:
            report["daemon"]["error"] = str(error)
    return report


def _status(state: LabState, *, as_json: bool) -> int:
    report = status(state)
    if as_json:
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    else:
        sys.stdout.write(_status_text(report, make=state.make("lab")))
    if not report["init"]["running"]:
        return _DOWN
    healthy = report["daemon"]["running"] and all(machine["phase"] == "running" for machine in report["machines"])
    return 0 if healthy and not any(gateway["trouble"] for gateway in report.get("gateways", ())) else 1


def _which(report: dict[str, Any]) -> str:
    """Return the heading of the report: the whole lab, or one tenant's part of it."""
    if report["lab"] != report["env"]:
        return f"environment {report['env']}, its part of the lab of environment {report['lab']}"
    beside = f", with {' and '.join(report['beside'])} in it" if report["beside"] else ""
    return f"the lab of environment {report['env']}{beside}"


def _status_text(report: dict[str, Any], *, make: str) -> str:
    if not report["init"]["running"]:
        return f"the lab of environment {report['env']} is not running: {make}\n"
    lines = [f"{_which(report)}: process {report['init']['pid']}, port 127.0.0.1:{report['port']}"]
    if not report["daemon"]["running"]:
        lines.append(f"  the daemon does not answer: {report['daemon'].get('error', '')}")
    for machine in report.get("machines", []):
        reason = f" ({machine['reason']})" if machine["reason"] else ""
        lines.append(f"  {machine['name']:<24} {machine['address']:<16} {machine['phase']}{reason}")
    for balancer, verdicts in report.get("load_balancers", {}).items():
        backends = ", ".join(f"{backend} {'up' if up else 'down'}" for backend, up in verdicts.items())
        lines.append(f"  load balancer {balancer.rpartition('/')[2]}: {backends or 'no backend'}")
    for gateway in report.get("gateways", []):
        lines.append(f"  gateway {gateway['name']}" + (f" ({gateway['trouble']})" if gateway["trouble"] else ""))
        lines += [f"    {_tunnel(tunnel)}" for tunnel in gateway["tunnels"]]
    lines += [f"  cut: {name}" for name in report.get("cuts", [])]
    return "\n".join(lines) + "\n"


def _tunnel(tunnel: dict[str, Any]) -> str:
    since = f" since {time.strftime('%H:%M:%S', time.localtime(tunnel['since']))}" if tunnel["since"] else ""
    traffic = f"{tunnel['bytes_in']} bytes in, {tunnel['bytes_out']} out"
    return f"{tunnel['name']:<22} {tunnel['remote']:<16} {'up' if tunnel['up'] else 'down'}{since}, {traffic}"


def shell(state: LabState, machine: str, command: list[str]) -> NoReturn:
    """Replace this process with a shell, or with ``command``, in a machine. Needs process 1, but no daemon."""
    _require_up(state)
    argv = entering(state, machine, command or ["/bin/bash", "--login"])
    sys.stdout.flush()
    os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted: the process becomes the command


if __name__ == "__main__":
    sys.exit(main())
