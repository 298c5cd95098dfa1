"""Control-plane machines as folders and processes on loopback, from the real map of files.

Addresses of 127.0.0.0/8 need no network: all of them exist on every machine.
"""

from __future__ import annotations

import getpass
import grp
import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from etcd import join as etcd_join
from etcd.client import Etcdctl
from vault import fetch_secrets

from components.control_plane import issuing, secrets
from components.model import (
    AddressPlan,
    Environment,
    Machine,
    authorities,
    certificates,
    control_machines,
    load,
    plan,
    shared_secrets,
)
from components.model.control_plane.etcd import EtcdLearner
from components.model.identity.sign_in import settings
from components.model.network.address_plan import site_plan
from components.model.secrets.vault import ISSUERS
from components.render import files
from contract.documents.node import NodeConfig
from tests.images.fakes import FakeVault
from tests.support.ports import free_loopback_number, free_ports

ROOT = Path(__file__).parents[2]
STACK = ROOT / "stacks" / "Pulumi.lab.yaml"
ROOTFS = ROOT / "images" / "rootfs"
UNITS = ROOTFS / "etc" / "systemd" / "system"
DEADLINE_S = 300.0
"""Time limit of everything here in seconds, enough for a busy machine."""


def small_environment(*, members: int, learner: EtcdLearner | None = None) -> Environment:
    """Return the lab with an etcd cluster of ``members``, and a learner if one is given. Addresses differ at each call,
    so that test runs do not conflict."""
    lab = load(STACK)
    control = lab.control_plane
    etcd = control.etcd.model_copy(update={"members": members, "learner": learner})
    events = control.events.model_copy(update={"members": 1})
    api = control.api.model_copy(update={"servers": 1, "port": free_ports(1)[0]})
    return lab.model_copy(
        update={
            "supernet": IPv4Network(f"10.{free_loopback_number()}.0.0/16"),
            "sites": {name: site.model_copy(update={"prefix": 18}) for name, site in lab.sites.items()},
            "control_plane": control.model_copy(update={"etcd": etcd, "events": events, "api": api}),
        }
    )


def loopback(addresses: AddressPlan) -> AddressPlan:
    """Return the plan with 127 in the place of 10; no environment file may ask for that."""

    def there(network: IPv4Network) -> IPv4Network:
        return IPv4Network(str(network).replace("10.", "127.", 1))

    return replace(
        addresses,
        supernet=there(addresses.supernet),
        sites={name: site_plan(there(site.block)) for name, site in addresses.sites.items()},
        services=there(addresses.services),
    )


class Place:
    """One machine's files below ``folder``, and its processes."""

    def __init__(self, machine: Machine, folder: Path, *, control: Control, tools: dict[str, Path]) -> None:
        self.machine, self.folder, self.control, self.tools = machine, folder, control, tools
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def write(self) -> None:
        """Write the files that cloud-init would, then the secrets."""
        vault = self.control.vault
        for path, file in files(self.control.environment, self.control.addresses, self.machine).items():
            target = self.path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.local(file.content))
        self.path("/run/longhaul").mkdir(parents=True, exist_ok=True)
        self.path("/run/longhaul-api").mkdir(parents=True, exist_ok=True)
        self.path("/var/log/kubernetes").mkdir(parents=True, exist_ok=True)
        config = self.path("/etc/longhaul/secrets.json")
        raw = json.loads(config.read_text()) | {"vault": vault.url, "metadata": vault.metadata}
        for file in raw["files"]:
            file["owner"] = f"{getpass.getuser()}:{grp.getgrgid(os.getgid()).gr_name}"
        config.write_text(json.dumps(raw))
        self.fetch()

    def fetch(self) -> None:
        """Fetch all secrets."""
        secrets = self.path("/etc/longhaul/secrets.json")
        _, problems = fetch_secrets.fetch(fetch_secrets.read(secrets).files, fetch_secrets.open_vault(secrets).read)
        assert problems == []

    def path(self, path: str) -> Path:
        """Return this machine's place of ``path``."""
        return self.folder / path.removeprefix("/")

    def local(self, text: str) -> str:
        """Return ``text`` with the machine's paths replaced by their places here."""
        text = text.replace("/usr/local/share/longhaul", str(ROOTFS / "usr/local/share/longhaul"))
        return re.sub(
            r"/(etc/longhaul|run/longhaul|var/log/kubernetes|var/lib/longhaul/ssd)", rf"{self.folder}/\1", text
        )

    @cached_property
    def node(self) -> NodeConfig:
        return NodeConfig.read(self.path("/etc/longhaul/node.json"))

    @cached_property
    def etcdctl(self) -> Etcdctl:
        part = "client" if self.machine.role.is_etcd else "etcd-client"
        pki = self.path("/etc/longhaul/pki")
        return Etcdctl(
            program=str(self.tools["etcdctl"]), certificate=pki / f"{part}.pem", authority=pki / "etcd-ca.crt"
        )

    @property
    def data(self) -> Path:
        return self.path("/var/lib/longhaul/ssd/etcd")

    def prepare(self) -> object:
        """Decide how etcd starts, as etcd.service does before etcd."""
        vault = fetch_secrets.open_vault(self.path("/etc/longhaul/secrets.json"))
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        return etcd_join.prepare(
            self.node,
            etcdctl=self.etcdctl,
            read=vault.read,
            data=self.data,
            environment=self.path("/run/longhaul/etcd-join.env"),
        )

    def copy(self, unit: str) -> None:
        """Copy the files that a unit copies before its program starts."""
        text = self.local((UNITS / unit).read_text())
        for line in re.findall(r"^ExecStartPre=/usr/bin/install -m (.*)$", text, flags=re.MULTILINE):
            mode, *files, target = line.split()
            Path(target if target.endswith("/") else Path(target).parent).mkdir(parents=True, exist_ok=True)
            subprocess.run(["install", "-m", mode, *files, target], check=True)

    def start_etcd(self) -> None:
        """Start etcd as etcd.service does after that."""
        self.copy("etcd.service")
        variables = self.unit_environment("etcd.service")
        for name in ("/etc/longhaul/etcd.env", "/run/longhaul/etcd-join.env"):
            variables |= environment_file(self.path(name).read_text())
        # Several machines share one loopback here.
        variables["ETCD_LISTEN_METRICS_URLS"] = f"http://{self.machine.address}:2381"
        self.start("etcd", [str(self.tools["etcd"])], variables)

    def unit_environment(self, unit: str) -> dict[str, str]:
        """Return ``Environment=`` of a unit with this machine's paths."""
        text = self.local((UNITS / unit).read_text())
        return dict(pair.split("=", 1) for pair in re.findall(r"^Environment=(.*)$", text, flags=re.MULTILINE))

    def unit_command(self, unit: str, variables: dict[str, str]) -> list[str]:
        """Return ``ExecStart=`` of a unit, with its variables split into words, as systemd does."""
        text = self.local((UNITS / unit).read_text()).replace("\\\n", " ")
        line = re.findall(r"^ExecStart=(.*)$", text, flags=re.MULTILINE)[-1]
        words: list[str] = []
        for word in shlex.split(line):
            words += variables[word[1:]].split() if word.startswith("$") else [word]
        return [str(self.tools[Path(words[0]).name]), *words[1:]]

    def start(self, name: str, command: list[str], variables: dict[str, str]) -> None:
        """Start a program; its output goes to ``<folder>/<name>.log``."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def stop(self, name: str) -> None:
        """Stop a program."""
        process = self.processes.pop(name)
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def running(self, name: str) -> bool:
        """Return True while it runs; fail the test with the end of its log when it ended by itself."""
        if (code := self.processes[name].poll()) is not None:
            raise AssertionError(f"{name} ended with {code}: {(self.folder / f'{name}.log').read_text()[-2000:]}")
        return True

    def wipe(self) -> None:
        """Delete the local SSD's data."""
        subprocess.run(["rm", "-rf", str(self.data)], check=True)


def environment_file(text: str) -> dict[str, str]:
    """Return the variables of an environment file, as systemd reads the plain ones that we write."""
    return dict(line.split("=", 1) for line in text.splitlines() if line and line[0] not in "#;")


def eventually(condition: Callable[[], Any], *, what: str) -> Any:
    """Wait for ``condition``; fail the test with ``what`` after :data:`DEADLINE_S`."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError(f"never came about: {what}")


class Control:
    """All machines of the control plane."""

    def __init__(
        self,
        folder: Path,
        vault: FakeVault,
        *,
        members: int,
        tools: dict[str, Path],
        learner: EtcdLearner | None = None,
    ) -> None:
        self.environment = small_environment(members=members, learner=learner)
        self.addresses = loopback(plan(self.environment))
        self.vault = vault
        self._issuers = {
            authority.name: issuing.new_authority(common_name=authority.common_name, days=1, key=issuing.new_key())
            for authority in authorities(self.environment)
        }
        self._fill()
        self.places = {
            machine.name: Place(machine, folder / machine.name, control=self, tools=tools)
            for machine in control_machines(self.environment, self.addresses)
        }

    def _fill(self) -> None:
        """Fill the vault as the components would."""
        for name, pair in self._issuers.items():
            self.vault.secrets[f"trust-{name}"] = pair.certificate
            self.vault.secrets[f"ca-{name}"] = json.dumps({"certificate": pair.certificate, "key": pair.key})
        for certificate in certificates(self.environment, self.addresses):
            self.renew(certificate.name)
        self.vault.secrets[ISSUERS] = settings(self.environment)
        for shared in shared_secrets(control_machines(self.environment, self.addresses)):
            self.vault.secrets[shared.name] = secrets.first_value(shared.kind)

    def renew(self, name: str) -> str:
        """Issue a certificate anew, put it into the vault, and return it."""
        certificate = next(one for one in certificates(self.environment, self.addresses) if one.name == name)
        issuer = self._issuers[certificate.authority]
        pair = issuing.issue(
            issuing.Subject(
                common_name=certificate.common_name,
                organizations=certificate.organizations,
                dns_names=certificate.dns_names,
                addresses=[str(address) for address in certificate.addresses],
                usages=[str(usage) for usage in certificate.usages],
                days=1,
            ),
            authority=issuer,
        )
        value = {"certificate": pair.certificate, "key": pair.key, "issuer": issuer.certificate}
        self.vault.secrets[name] = json.dumps(value)
        return pair.certificate

    def __getitem__(self, name: str) -> Place:
        return self.places[name]

    def close(self) -> None:
        """Kill every process: asked to stop, one after another would wait for those that are gone."""
        processes = [process for place in self.places.values() for process in place.processes.values()]
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
