"""A stand-in for Packer that records its calls, and does what a test's files say."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


def main() -> int:
    folder = Path(os.environ["FAKE_PACKER"])
    verb, words = sys.argv[1], sys.argv[2:]
    path = Path(next(word for word in words if word.startswith("-var-file=")).partition("=")[2])
    variables: dict[str, Any] = json.loads(path.read_text())
    shop = path.parent
    note = {
        "verb": verb,
        "words": words,
        "variables": variables,
        "environ": dict(os.environ),
        "key_mode": Path(variables["ssh_private_key_file"]).stat().st_mode & 0o777,
        "playbook": json.loads((shop / "playbook.json").read_text()),
        "program": Path(variables["playbook_command"]).read_text(),
        "folder": str(shop),
    }
    (folder / "told").write_text(json.dumps(note))
    print(f"==> {verb}: a machine", flush=True)
    if (folder / "waits").exists():
        return _interrupted(folder)
    if (folder / "fails").exists():
        print("==> the machine does not answer", file=sys.stderr, flush=True)
        return 1
    if verb == "build" and not (folder / "leaves-nothing").exists():
        _bake(
            variables,
            note["playbook"],
            version=(folder / "version").read_text() if (folder / "version").exists() else "",
        )
    return 0


def _bake(variables: dict[str, Any], playbook: dict[str, Any], *, version: str) -> None:
    """Write the results of a bake, as Packer's own post-processor and the playbook do."""
    build = {"builder_type": "amazon-ebs", "artifact_id": f"{variables['region']}:ami-0a1b2c3d4e5f60718"}
    Path(variables["result"]).write_text(json.dumps({"builds": [build], "last_run_uuid": "1"}))
    said = {"version": version or variables["image_version"], "digest": "d" * 64, "kind": variables["kind"]}
    Path(playbook["release"]["copy_to"]).write_text(json.dumps(said))


def _interrupted(folder: Path) -> int:
    """Ignore SIGINT, as Packer's first process does. After SIGTERM, remove what was made, then end."""
    caught: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _frame: caught.append(number))
    (folder / "waiting").write_text(str(os.getpid()))
    while not caught:  # a signal between the look and a pause() would be slept through
        time.sleep(0.02)
    print("==> removing the machine", flush=True)
    (folder / "cleaned").touch()
    return 1
