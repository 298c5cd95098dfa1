"""Runs commands against a cloud at its real names, in namespaces of their own: ``python -m tests.lab.providers.inside FOLDER COMMANDS``.

Started under ``unshare --mount --net --pid --fork --kill-child``: the host's names, network and processes are not touched. COMMANDS
is a JSON list of argument lists; the answer on standard output is a JSON list of ``[exit code, output]``. A command ``["@", "expression"]``
is evaluated with the cloud as ``live``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.lab.cloud.conftest import Live

NAMES = ("management.azure.com", "login.microsoftonline.com", "lh-lab-vault.vault.azure.net")


def main(folder: Path, commands: list[list[str]]) -> list[tuple[int, str]]:
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {' '.join(NAMES)}\n")
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    live = Live(folder / "cloud", port=443)
    environment = {**os.environ, **live.cloud.operator_environment()}
    results: list[tuple[int, str]] = []
    try:
        for command in commands:
            if command[0] == "@":
                results.append((0, repr(eval(command[1], {"live": live}))))
                continue
            done = subprocess.run(
                command, env=environment, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300
            )
            results.append((done.returncode, done.stdout))
    finally:
        live.stop()
    return results


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), json.loads(sys.argv[2]))))
