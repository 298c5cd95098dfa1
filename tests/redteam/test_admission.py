"""Attempts of a member of a team with the role ``edit`` in a namespace, at a real API server that admits as ours."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.render.admission import SYSTEM_PRIORITIES, USER_EVENTS_BURST
from tests.redteam.attacks import INTO_THE_NODE, TEAM, pod, service
from tests.redteam.conftest import OPEN
from tests.support.api_server import ApiServer

pytestmark = pytest.mark.engine


def said(guarded: ApiServer, member: Path, document: dict[str, Any], *words: str) -> str:
    """Return what the API server says when the member makes an object."""
    verb = words or ("create",)
    return guarded.kubectl(*verb, "--filename=-", kubeconfig=member, stdin=json.dumps(document), check=False)


@pytest.mark.parametrize("way", INTO_THE_NODE)
def test_an_ordinary_namespace_has_no_way_into_its_nodes(guarded: ApiServer, member: Path, way: str) -> None:
    document = INTO_THE_NODE[way]
    assert 'violates PodSecurity "baseline:latest"' in said(guarded, member, document)
    open_ = {**document, "metadata": {**document["metadata"], "namespace": OPEN}}
    assert " created" in said(guarded, member, open_)


def test_nor_by_a_container_that_is_added_later(guarded: ApiServer, member: Path) -> None:
    name = said(guarded, member, pod()).split()[0]
    added = {"name": "b", "image": "a", "securityContext": {"privileged": True}}
    patch = json.dumps({"spec": {"ephemeralContainers": [added]}})
    words = ("patch", name, f"--namespace={TEAM}", "--subresource=ephemeralcontainers", "--patch", patch)
    answer = guarded.kubectl(*words, kubeconfig=member, check=False)
    assert "violates PodSecurity" in answer


def test_nobody_opens_a_namespace_with_its_label(guarded: ApiServer, member: Path) -> None:
    words = ("label", "namespace", TEAM, "pod-security.kubernetes.io/enforce=privileged")
    assert "forbidden" in guarded.kubectl(*words, kubeconfig=member, check=False)


@pytest.mark.parametrize("name", SYSTEM_PRIORITIES)
def test_the_system_s_priorities_are_the_system_s(guarded: ApiServer, member: Path, name: str) -> None:
    for namespace in (TEAM, OPEN):
        assert "insufficient quota to match these scopes" in said(
            guarded, member, pod(namespace, priorityClassName=name)
        )
        quota = {"hard": {"pods": "9"}, "scopes": ["PriorityClass"]}
        own = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "own", "namespace": namespace}}
        assert "forbidden" in said(guarded, member, own | {"spec": quota})


def test_an_ordinary_pod_is_made(guarded: ApiServer, member: Path) -> None:
    assert " created" in said(guarded, member, pod())


def test_nobody_s_address_is_taken_by_a_service(guarded: ApiServer, member: Path) -> None:
    """An address of the depot, of the API or of a cloud's DNS would lead to the member's pods from every node."""
    taken = {"externalIPs": ["10.66.32.5"]}
    assert "external IPs is denied" in said(guarded, member, service("new", **taken))
    assert "service/own created" in said(guarded, member, service("own"))
    assert "external IPs is denied" in said(guarded, member, service("own", **taken), "apply")
    words = ("service", "own", f"--namespace={TEAM}", "--type=merge")
    balanced = json.dumps({"status": {"loadBalancer": {"ingress": [{"ip": "10.66.32.5"}]}}})
    patch = ("patch", *words, "--subresource=status", "--patch", balanced)
    assert "forbidden" in guarded.kubectl(*patch, kubeconfig=member, check=False)
    asked = ("auth", "can-i", "create", "endpointslices.discovery.k8s.io", f"--namespace={TEAM}")
    assert guarded.kubectl(*asked, kubeconfig=member, check=False).strip() == "no"


def event(index: int) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "a", "namespace": TEAM}
    metadata = {"name": f"flood-{index}", "namespace": TEAM}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, "reason": "Flood"}


def test_a_flood_of_events_is_cut_off(guarded: ApiServer, member: Path) -> None:
    """Those of the group ``events.k8s.io`` have a share of requests (``tests/components/objects/test_contents.py``)."""
    items = [event(index) for index in range(4 * USER_EVENTS_BURST)]
    created = said(guarded, member, {"apiVersion": "v1", "kind": "List", "items": items}).count(" created")
    assert USER_EVENTS_BURST <= created < len(items)


@pytest.mark.parametrize(("asked_s", "given_s"), [(3607, 3607), (365 * 86_400, 86_400)])
def test_a_pod_s_token_is_not_good_for_a_year(guarded: ApiServer, member: Path, asked_s: int, given_s: int) -> None:
    """A kubelet asks for 3,607 s, which Kubernetes by itself makes a year; ``edit`` may ask for any time."""
    name = said(guarded, member, pod()).split()[0]
    words = ("create", "token", "default", f"--namespace={TEAM}", f"--duration={asked_s}s")
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={name.removeprefix('pod/')}")
    token = guarded.kubectl(*words, *bound, kubeconfig=member).strip()
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] == given_s


def test_no_cipher_without_authenticated_encryption_is_offered(guarded: ApiServer) -> None:
    """CBC is what a scanner looks for first; RSA's key exchange would not keep what was said secret."""

    def shaken(cipher: str) -> str:
        words = ["openssl", "s_client", "-connect", f"127.0.0.1:{guarded.port}", "-tls1_2", "-cipher", cipher]
        done = subprocess.run(words, input="", capture_output=True, text=True, check=False)
        return "handshake failure" if "handshake failure" in done.stderr else done.stdout

    assert "ECDHE-ECDSA-AES256-GCM-SHA384" in shaken("ECDHE-ECDSA-AES256-GCM-SHA384")
    for cipher in (
        "ECDHE-ECDSA-AES128-SHA",
        "ECDHE-ECDSA-AES256-SHA",
        "ECDHE-ECDSA-AES128-SHA256",
        "AES128-GCM-SHA256",
    ):
        assert shaken(f"{cipher}:@SECLEVEL=0") == "handshake failure", cipher
