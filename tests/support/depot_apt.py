"""The system's own apt with folders of its own, and source, key and authority as the roles write them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from longhaul.toolchain.spec import repository
from tests.support.signed_depot import SUITE

ROLES = repository() / "playbooks" / "roles"
SOMEWHERE = "127.0.0.1:1"
"""Address for which the roles write the files; every depot has a port of its own."""
FILES = {
    "key.asc": "{{ packages_keys }}",
    "sources.list": "{{ packages_source }}\n",
    "apt.conf": "{{ depot_authority_apt_lines }}",
    "authority.pem": "{{ depot_authority_certificates }}",
}


class Apt:
    """An apt that has one source, the depot at ``address``."""

    def __init__(self, folder: Path, address: str, key: str, *, authority: str = "") -> None:
        self._folder = folder
        for part in ("state/lists/partial", "cache/archives/partial", "etc", "files"):
            (folder / part).mkdir(parents=True)
        (folder / "status").touch()
        self._write(address, key, authority)

    def _write(self, address: str, key: str, authority: str) -> None:
        scheme, _, where = address.partition("://")
        for name, text in _as_roles_write(scheme, key, authority).items():
            (self._folder / "etc" / name).write_text(text.replace(SOMEWHERE, where))
        assert "trusted" not in (self._folder / "etc/sources.list").read_text()
        self._move("etc/sources.list", "/etc/apt/keyrings/longhaul-depot.asc", "etc/key.asc")
        self._move("etc/apt.conf", "/etc/longhaul/depot-authority.pem", "etc/authority.pem")

    def _move(self, name: str, path: str, to: str) -> None:
        """Have a file name another place of a second file."""
        file = self._folder / name
        file.write_text(file.read_text().replace(path, str(self._folder / to)))

    def trust(self) -> None:
        """Take the source as earlier releases wrote it."""
        sources = self._folder / "etc/sources.list"
        sources.write_text(re.sub(r"\[.*\]", "[trusted=yes]", sources.read_text()))

    def ask(self, address: str) -> None:
        """Have the source at another address, and all else as it was."""
        sources = self._folder / "etc/sources.list"
        sources.write_text(re.sub(r"https?://[^/]+", address, sources.read_text()))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        own = {
            "Dir::Etc::main": "etc/apt.conf",
            "Dir::Etc::parts": "etc/none",
            "Dir::Etc::sourcelist": "etc/sources.list",
            "Dir::Etc::sourceparts": "etc/none",
            "Dir::Etc::trusted": "etc/none",
            "Dir::Etc::trustedparts": "etc/none",
            "Dir::State": "state",
            "Dir::State::status": "status",
            "Dir::Cache": "cache",
        }
        argv = ["apt-get", *(f"-o{name}={self._folder / path}" for name, path in own.items())]
        argv += [f"-c={self._folder / 'etc/apt.conf'}", "-oAPT::Sandbox::User=root", "-oAcquire::Retries=0"]
        argv += ["-oAcquire::http::Proxy=DIRECT", "-oAcquire::https::Proxy=DIRECT", *words]
        return subprocess.run(argv, cwd=self._folder / "files", capture_output=True, text=True, check=False)

    def install(self) -> str:
        """Return what is in the package that apt would install; empty when it refuses."""
        self.run("update")
        if self.run("download", "thing").returncode != 0:
            return ""
        (deb,) = (self._folder / "files").glob("*.deb")
        subprocess.run(["dpkg-deb", "--extract", str(deb), str(self._folder / "out")], check=True)
        return (self._folder / "out/usr/share/thing").read_text()


@cache
def _as_roles_write(scheme: str, key: str, authority: str) -> Mapping[str, str]:
    """Return the files as the roles write them."""
    variables = {
        "packages_depot": f"{scheme}://{SOMEWHERE}",
        "packages_depot_key": key,
        "packages_look": {"stdout_lines": [f"suite {SUITE}"]},
        "depot_authority_depot": f"{scheme}://{SOMEWHERE}",
        "depot_authority_certificates": authority,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = folder / "files.json"
        tasks = [{"ansible.builtin.copy": {"content": "{{ files | to_json }}", "dest": str(written)}}]
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
        play["vars"] = variables | {"files": FILES}
        play["vars_files"] = [str(ROLES / role / "vars/main.yml") for role in ("packages", "depot_authority")]
        (folder / "play.yml").write_text(yaml.safe_dump([play]))
        argv = [sys.executable, "-m", "ansible", "playbook", str(folder / "play.yml")]
        subprocess.run(argv, check=True, capture_output=True)
        return dict(json.loads(written.read_text()))
