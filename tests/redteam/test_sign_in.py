"""People who sign in, in a whole environment in the lab: issuers that reach running API servers, rights of groups, and
a person who is out at once. The identity provider is the company's, on the internet."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab import tools
from longhaul.client.kubeconfig import kubeconfig
from longhaul.client.profile import read_profile
from tests.support.identity_provider import CLIENT, IdentityProvider, identity_provider
from tests.support.project import Project
from tests.support.shared_lab import SERVERS, SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

ALICE, BOB = "corp:a-1", "corp:b-2"
MADE = "research"
"""Namespace that is made because a group has rights in it."""
STARTED = "cat /proc/sys/kernel/random/boot_id; systemctl show --property=ExecMainStartTimestamp kube-apiserver"


@dataclass(frozen=True, kw_only=True)
class Company:
    """An environment whose people sign in."""

    project: Project
    provider: IdentityProvider
    folder: Path

    def kubectl(self, words: list[str], **claims: Any) -> subprocess.CompletedProcess[str]:
        """Run kubectl with a token that has these claims."""
        path = self.folder / "person.kubeconfig"
        config = kubeconfig(read_profile(self.folder / "profile.json"), {})
        config["users"][0]["user"] = {"token": self.provider.token(**claims)}
        path.write_text(json.dumps(config))
        command = [str(tools.bin_dir() / "kubectl"), f"--kubeconfig={path}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def started(project: Project) -> list[str]:
    """Return since when the API servers and their machines run."""
    return [project.on(server, STARTED).stdout for server in SERVERS]


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


@pytest.fixture(scope="module", name="company")
def _company(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    """Declare the company's issuer, and have running API servers get it. They keep it: nothing of the modules that
    follow reads who may sign in."""
    folder = tmp_path_factory.mktemp("company")
    before = started(project)
    with identity_provider(folder / "corp", company=project.state / "enter-company") as provider:
        found = f"{provider.url}/.well-known/openid-configuration"
        closed = project.on(SERVERS[0], f"curl -ks --max-time 5 --output /dev/null {found}", check=False)
        assert closed.returncode == 28, "a way out that nobody needs yet"
        issuer = provider.issuer().model_dump(mode="json", exclude_defaults=True)
        groups = {"corp:ml": {"namespaces": {MADE: "edit"}}, "corp:ops": {"everywhere": "view"}}
        project.write({**project.read(), "identity": {"issuers": {"corp": issuer}, "groups": groups}})
        said = project.longhaul("up", "--yes", "--only", "infrastructure").stderr
        for server in SERVERS:
            assert f"{server} has its changed issuers" in said
        project.longhaul("up", "--yes", "--only", "objects")
        assert started(project) == before
        (folder / "profile.json").write_text(project.longhaul("access", "profile").stdout)
        yield Company(project=project, provider=provider, folder=folder)


def test_issuers_reach_running_servers(company: Company) -> None:
    shown = json.loads(company.project.longhaul("access", "show", "--json").stdout)
    assert [one["issuers"] for one in shown["servers"]] == ["those of the file"] * len(SERVERS)
    assert read_profile(company.folder / "profile.json").issuers["corp"].client_id == CLIENT


def test_a_member_of_a_team_does_what_the_group_may_and_nothing_else(company: Company) -> None:
    who = company.kubectl(["auth", "whoami", "--output=json"])
    assert json.loads(who.stdout)["status"]["userInfo"]["username"] == ALICE, who.stderr
    may = [
        (["create", "deployments", f"--namespace={MADE}"], "yes"),
        (["create", "deployments", "--namespace=default"], "no"),
        (["get", "secrets", "--namespace=kube-system"], "no"),
        (["list", "nodes"], "no"),
        (["create", "rolebindings", f"--namespace={MADE}"], "no"),
    ]
    for words, answer in may:
        assert company.kubectl(["auth", "can-i", *words]).stdout.strip() == answer, words
    bob = {"oid": "b-2", "groups": ["ops"]}
    assert company.kubectl(["auth", "can-i", "list", "pods", "--all-namespaces"], **bob).stdout.strip() == "yes"
    assert (
        company.kubectl(["auth", "can-i", "create", "deployments", f"--namespace={MADE}"], **bob).stdout.strip() == "no"
    )


def test_what_is_not_the_company_s_is_refused(company: Company) -> None:
    for claims in ({"aud": "wiki"}, {"iss": "https://rival.example.com"}, {"exp": 1}, {"oid": None}):
        done = company.kubectl(["auth", "whoami"], **claims)
        assert "Unauthorized" in done.stderr or "must be logged in" in done.stderr, claims
    forged = company.kubectl(["auth", "can-i", "get", "secrets"], groups=["system:masters", "longhaul:admins"])
    assert forged.stdout.strip() == "no"


@pytest.mark.drill
def test_a_person_is_out_at_once_and_what_they_had_open_ends(company: Company) -> None:
    project, before = company.project, started(company.project)
    watch = ["get", "configmaps", f"--namespace={MADE}", "--watch"]
    path = company.folder / "person.kubeconfig"
    company.kubectl(["version"])
    command = [str(tools.bin_dir() / "kubectl"), f"--kubeconfig={path}", *watch]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as open_:
        assert open_.stdout is not None
        assert "kube-root-ca.crt" in open_.stdout.readline() + open_.stdout.readline()
        began = time.monotonic()
        said = project.longhaul("access", "revoke", ALICE, "--yes").stderr
        print(f"revoked after {time.monotonic() - began:.0f} s, with all servers started anew:\n{said}")
        open_.communicate(timeout=300)
    for server in SERVERS:
        assert f"{server} refuses {ALICE}" in said
        assert f"{server} has ended open requests" in said
    assert all(now != then for now, then in zip(started(project), before, strict=True))
    refused = company.kubectl(["get", "configmaps", f"--namespace={MADE}"])
    assert "this person's access was revoked" in refused.stderr
    fresh = company.kubectl(["get", "nodes"], jti="another", groups=["ops"])
    assert "this person's access was revoked" in fresh.stderr
    assert company.kubectl(["get", "pods", "--all-namespaces"], oid="b-2", groups=["ops"]).returncode == 0
    (person,) = json.loads(project.longhaul("access", "show", "--json").stdout)["revoked"]
    assert (person["name"], bool(person["by"])) == (ALICE, True)
    project.await_healthy()


@pytest.mark.drill
def test_the_audit_log_names_who_was_refused(company: Company) -> None:
    found = "".join(
        company.project.on(server, "cat /var/log/kubernetes/audit.log", check=False).stdout for server in SERVERS
    )
    entries = [
        json.loads(line) for line in found.splitlines() if f'"username":"{ALICE}"' in line and line.endswith("}")
    ]
    refused = [one for one in entries if (one.get("responseStatus") or {}).get("code") == 403]
    assert any("access was revoked" in one["annotations"].get("authorization.k8s.io/reason", "") for one in refused)


@pytest.mark.drill
def test_and_is_let_in_again(company: Company) -> None:
    company.project.longhaul("access", "restore", ALICE)
    assert company.kubectl(["get", "configmaps", f"--namespace={MADE}"]).returncode == 0
    assert company.project.longhaul("access", "restore", ALICE, check=False).returncode == 2


def test_a_name_that_nobody_has_is_not_revoked(company: Company) -> None:
    done = company.project.longhaul("access", "revoke", "alice", "--yes", check=False)
    assert (done.returncode, "like corp:alice" in done.stderr) == (2, True)
