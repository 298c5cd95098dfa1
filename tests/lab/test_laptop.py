"""A new environment from a laptop alone, which is on the internet and has no other way in than the VPN: `longhaul up`
to its end, sign-in, kubectl, and a pod's page of each site in a real browser."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from components.model import load, plan
from lab import tools
from lab.hypervisor.addresses import INTERNET_DNS
from longhaul.terminal.exits import Exit
from tests.support.browser import Browser
from tests.support.identity_provider import IdentityProvider
from tests.support.laptop import Laptop
from tests.support.pages import PORT, page_pod
from tests.support.project import REPOSITORY, Project, await_healthy, eventually, hybrid

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "far"
ADDRESS = "192.0.2.2/32"
SITES = ("weu", "use1", "rack")
SPACE = "research"
GATEWAY = "198.51.100.20"
WITH_SSH = 'mount --bind "$1" /etc/ssh/ssh_config; shift; exec "$@"'
"""Gives a command its own configuration of ssh, as a laptop has one."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A command that runs, and what it has said."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        """Its output so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def says(self, words: str) -> bool:
        """Return whether it has said that. AssertionError when it has ended without."""
        assert self.process.poll() is None, self.said[-6000:]
        return words in self.said


@dataclass(frozen=True, kw_only=True)
class Place:
    """A lab without any environment in it, the company, and its people's laptop."""

    project: Project
    laptop: Laptop
    provider: IdentityProvider
    folder: Path

    @property
    def zone(self) -> str:
        """Zone of the environment's names."""
        return str(self.project.read()["domain"])

    @contextmanager
    def up(self) -> Iterator[Running]:
        """Run ``longhaul up`` on the laptop; racks are reached by their gateway."""
        config = self.folder / "ssh_config"
        config.write_text(_jump(self.project, self.folder))
        longhaul = [str(Path(sys.executable).with_name("longhaul")), "up", "--yes", "--project"]
        words = [*longhaul, str(self.project.path), "--env", ENV, "--", "--skip-preview"]
        entered = [str(self.project.state / "enter-laptop"), "unshare", "--mount", "sh", "-c", WITH_SSH, "sh"]
        log = self.folder / "up.log"
        with log.open("wb") as file:
            process = subprocess.Popen([*entered, str(config), *words], stdout=file, stderr=file, cwd=REPOSITORY)
        try:
            yield Running(process=process, log=log)
        finally:
            process.terminate()
            process.wait()

    def kubectl(self, config: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl on the laptop."""
        return self.laptop.run(str(tools.bin_dir() / "kubectl"), f"--kubeconfig={config}", *words, stdin=stdin)

    @contextmanager
    def resolving(self) -> Iterator[None]:
        """Have a resolver on the laptop that asks for the environment's zones inside the VPN, as `longhaul vpn` says
        that a laptop's own has to."""
        inside = plan(load(self.project.stack_file)).dns_service
        zones = [f"--server=/{zone}/{inside}" for zone in (self.zone, "cluster.local")]
        here = ["--no-hosts", "--no-resolv", "--listen-address=127.0.0.1", "--bind-interfaces", "--user=root"]
        words = ["dnsmasq", "--keep-in-foreground", "--pid-file=", *here, f"--server={INTERNET_DNS}", *zones]
        with subprocess.Popen([str(self.project.state / "enter-laptop"), *words]) as resolver:
            try:
                yield
            finally:
                resolver.terminate()


def _jump(project: Project, folder: Path) -> str:
    """Return a configuration of ssh that reaches hosts through their site's gateway (docs/hosts.md)."""
    hosts = str(plan(load(project.stack_file)).sites["rack"].nodes.network_address).rpartition(".")[0]
    key = project.read()["sites"]["rack"]["gateways"][0]["host_key"]
    pinned = folder / "known_hosts"
    pinned.write_text(f"{GATEWAY} {key}\n")
    identity = project.state / "ssh" / "id_ed25519"
    gateway = f"Host {GATEWAY}\n  IdentityFile {identity}\n  UserKnownHostsFile {pinned}\n"
    return f"{gateway}Host {hosts}.*\n  ProxyJump root@{GATEWAY}\n"


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp(ENV)
    raw = hybrid(ENV, supernet="10.208.0.0/12", etcd=1, events=1, api=1)
    raw["vpn"] = {"machine_type": "Standard_D2s_v5"}
    raw["access"]["operators"] = [ADDRESS]
    raw["pools"]["boards"] = {"site": "weu", "machine_type": "Standard_D8s_v5", "min": 1, "max": 1}
    project = Project.make(folder / "project", raw)
    provider = IdentityProvider(folder / "corp", company=project.state / "enter-company")
    issuer = provider.issuer().model_dump(mode="json", exclude_defaults=True)
    groups = {"corp:ml": {"namespaces": {SPACE: "edit"}, "vpn": True}}
    project.write({**raw, "identity": {"issuers": {"corp": issuer}, "groups": groups}})
    try:
        project.prepare()
        provider.start()
        yield Place(project=project, laptop=Laptop(project=project), provider=provider, folder=folder)
    finally:
        provider.stop()
        project.lab("down", "--all", check=False)


def test_a_first_up_goes_to_its_end_once_the_vpn_is_there(place: Place) -> None:
    with place.up() as up:
        eventually(lambda: up.says(f"run `longhaul vpn --env {ENV}` in another terminal"), limit_s=1200)
        with place.laptop.connected(), place.resolving():
            code = up.process.wait(timeout=1200)
            assert code == Exit.OK, up.said[-6000:]
            await_healthy(place.laptop.longhaul)


def _sign_in(place: Place, name: str) -> str:
    """Have a person sign in on the laptop by the page that `longhaul login` shows; return the kubeconfig's path."""
    profile = place.folder / "profile.json"
    profile.write_text(place.laptop.longhaul("access", "profile").stdout)
    person = [sys.executable, "-m", "lab.oidc.person", str(place.provider.authority_file), name]
    # The page is shown while the program goes on.
    shows = f"{shlex.join(person)} %s &"
    login = [str(Path(sys.executable).with_name("longhaul")), "login", "--profile", str(profile)]
    # A program shows pages on a desktop alone.
    desktop = [f"BROWSER={shows}", "DISPLAY=:0", f"PYTHONPATH={REPOSITORY}"]
    return place.laptop.run("env", *desktop, *login).stdout.strip()


def test_a_member_of_the_team_opens_a_page_of_each_site(place: Place) -> None:
    laptop, browser = place.laptop, Browser.ensure(place.folder, under=[str(place.project.state / "enter-laptop")])
    config = _sign_in(place, "alice")
    with laptop.connected("--profile", str(place.folder / "profile.json")), place.resolving():
        who = json.loads(place.kubectl(config, "auth", "whoami", "--output=json").stdout)
        assert who["status"]["userInfo"]["username"] == "corp:a-1"
        boards = {"apiVersion": "v1", "kind": "List", "items": [page_pod(site) for site in SITES]}
        mine = f"--namespace={SPACE}"
        place.kubectl(config, "create", "--filename=-", mine, stdin=json.dumps(boards))
        place.kubectl(config, "wait", "--for=condition=Ready", "--timeout=300s", mine, "pod", "--all")
        pods = json.loads(place.kubectl(config, "get", "pods", "--output=json", mine).stdout)["items"]
        found = {pod["spec"]["nodeSelector"]["longhaul.dev/site"]: pod for pod in pods}
        assert set(found) == set(SITES)
        for site, pod in found.items():
            _look(browser, site, pod, place.folder / f"{site}.png")
    address = next(iter(found.values()))["status"]["podIP"]
    with pytest.raises(AssertionError, match="ERR_"):
        browser.open(f"http://{address}:{PORT}/", place.folder / "without-vpn.png")


def _look(browser: Browser, site: str, pod: dict[str, Any], picture: Path) -> None:
    page = browser.open(f"http://{pod['status']['podIP']}:{PORT}/", picture)
    assert page.title == site
    assert f"<b>{pod['metadata']['name']}</b> on node <b>{pod['spec']['nodeName']}</b>" in page.html
    assert "loss after 60 steps: 0.051" in page.html, "its script ran"
    assert picture.read_bytes().startswith(b"\x89PNG")
    print(f"{site}: {page.picture}")


def test_nobody_at_the_operator_s_place_was_needed(place: Place) -> None:
    """The environment's vault and gateways admit the laptop's public address alone."""
    refused = place.project.longhaul("access", "profile", check=False)
    assert refused.returncode != Exit.OK
    assert "Forbidden" in refused.stderr or "403" in refused.stderr or "network" in refused.stderr, refused.stderr
