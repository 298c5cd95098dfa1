"""A stand-in for the engine's command line: it records its calls, and does the part of the work that the tests need."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tarfile
import time
from pathlib import Path

KEPT = (
    "KUBECONFIG",
    "LONGHAUL_DESTROY",
    "LONGHAUL_RUN",
    "PATH",
    "PULUMI_BACKEND_URL",
    "PULUMI_CONFIG_PASSPHRASE",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
)


def main() -> int:
    folder = Path(os.environ["FAKE_ENGINE"])
    words, events = without_events(sys.argv[1:])
    config = words[words.index("--config-file") + 1] if "--config-file" in words else ""
    note = {
        "words": words,
        "cwd": str(Path.cwd()),
        "environ": {name: os.environ.get(name) for name in KEPT},
        "config": Path(config).read_text(encoding="utf-8") if config else None,
    }
    with (folder / "calls").open("a", encoding="utf-8") as file:
        file.write(json.dumps(note) + "\n")
    backend = Path((os.environ.get("PULUMI_BACKEND_URL") or "file:///nowhere").removeprefix("file://"))
    stack = words[words.index("--stack") + 1] if "--stack" in words else ""
    if words[:2] == ["stack", "init"]:
        write_state(backend, stack)
    if words[:2] == ["plugin", "install"]:
        kind, package, number = words[2:5]
        place = Path(os.environ["PULUMI_HOME"], "plugins", f"{kind}-{package}-v{number}")
        shutil.rmtree(place, ignore_errors=True)
        with tarfile.open(words[words.index("--file") + 1]) as archive:
            archive.extractall(place, filter="data")
    if words[0] == "cancel":
        shutil.rmtree(backend / ".pulumi" / "locks", ignore_errors=True)
    logged = folder / f"events{stack}"
    if events and words[0] != "preview" and logged.exists():
        Path(events).write_text(logged.read_text(encoding="utf-8"))
    waits = [path.read_text() for path in (folder / "wait", folder / f"wait{stack}") if path.exists()]
    if words[0] in waits:
        return wait(folder)
    if words[0] == "preview":
        told = [path for path in (folder / f"says{stack}", folder / "says") if path.exists()]
        sys.stdout.write(told[0].read_text(encoding="utf-8") if told else '{"steps": []}')
    if words[0] == "up":
        print(f"{stack} is made")
    printed = folder / f"prints-{words[0]}"
    sys.stdout.write(printed.read_text(encoding="utf-8") if printed.exists() else "")
    found = [path for path in (folder / words[0], folder / f"{words[0]}{stack}") if path.exists()]
    return int(found[0].read_text()) if found else 0


def without_events(words: list[str]) -> tuple[list[str], str]:
    """Return the words without the option for the log of events, and the path of that log."""
    if "--event-log" not in words:
        return words, ""
    at = words.index("--event-log")
    return [*words[:at], *words[at + 2 :]], words[at + 1]


def write_state(backend: Path, stack: str, **latest: object) -> None:
    path = backend / ".pulumi" / "stacks" / "longhaul" / f"{stack}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 3, "checkpoint": {"stack": stack, "latest": latest}}))


def wait(folder: Path) -> int:
    """Run until interrupted, and record every signal."""
    caught: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _frame: caught.append(got))
    (folder / "waiting").write_text(str(os.getpid()))
    while not caught:
        time.sleep(0.02)
    # Any second signal has come by now.
    time.sleep(0.3)
    (folder / "caught").write_text(json.dumps(caught))
    return 255


if __name__ == "__main__":
    sys.exit(main())
