"""Objects and ``kubectl run`` commands of the documents are admitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.objects.queue_managers import source
from tests.support.api_server import ApiServer, eventually
from tests.support.documented import Manifest, Run, manifests, pages, runs
from tests.support.hosts import STACKS

PAGES = pages(STACKS.parent)
MANIFESTS = [found for page, text in PAGES.items() for found in manifests(page, text)]
RUNS = [found for page, text in PAGES.items() for found in runs(page, text)]
EXAMPLES = {
    f"{path.parent.name}/{path.stem}-{index}": document
    for path in sorted((STACKS.parent / "examples").glob("*/*.yaml"))
    for index, document in enumerate(yaml.safe_load_all(path.read_text(encoding="utf-8")))
}
TEAM = "team"
DRY = "--dry-run=server"
PAGE = """\
A pod:

    apiVersion: v1
    kind: Pod
    metadata: {name: near}
    spec: {hostNetwork: true, containers: [{name: a, image: a}]}

and a part of one:

```yaml
securityContext: {privileged: true}
```

    kubectl run -it --rm a --image=a \\
      --overrides='{"spec": {"hostPID": true}}' -- sh
"""


def test_pages_are_read() -> None:
    assert {found.page for found in MANIFESTS} >= {"docs/gpu-pods.md", "docs/rolling.md"}
    assert {found.page for found in RUNS} >= {"docs/rack-routing.md"}
    first, second = manifests("page", PAGE)
    assert (first.line, first.document["spec"]["hostNetwork"]) == (3, True)
    assert (second.line, second.document["kind"]) == (11, "Pod")
    (run,) = runs("page", PAGE)
    assert run.words == ("run", "a", "--image=a", '--overrides={"spec": {"hostPID": true}}', "--", "sh")


@pytest.fixture(scope="module", name="member")
def _member(applied: ApiServer) -> Path:
    """Kubeconfig of somebody with the role ``edit`` in a namespace."""
    applied.kubectl("create", "namespace", TEAM)
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    for one in source("jobset")["definitions"]:
        definition = {**kind, "metadata": {"name": one["name"]}, "spec": one["spec"]}
        applied.define(definition)
    applied.kubectl("create", "rolebinding", "a", "--clusterrole=edit", "--user=alice", f"--namespace={TEAM}")
    there = ("get", "serviceaccounts", "default", f"--namespace={TEAM}", "--ignore-not-found", "--output=name")
    eventually(lambda: applied.kubectl(*there), what="the namespace has its service account")
    return applied.user("alice")


def applied_dry(cluster: ApiServer, document: dict[str, Any], member: Path) -> str:
    """Return what the API server says. Pods are made by members of teams, everything else by administrators."""
    kubeconfig = member if document["kind"] == "Pod" else None
    words = ("apply", "--server-side", DRY, f"--namespace={TEAM}", "--filename=-")
    return cluster.kubectl(*words, kubeconfig=kubeconfig, stdin=json.dumps(document), check=False)


def run_dry(cluster: ApiServer, run: Run, member: Path) -> str:
    """Return what the API server says to a ``kubectl run``."""
    verb, name, *rest = run.words
    return cluster.kubectl(verb, name, f"--namespace={TEAM}", DRY, *rest, kubeconfig=member, check=False)


@pytest.mark.engine
@pytest.mark.parametrize("shown", [pytest.param(shown, id=str(shown)) for shown in MANIFESTS])
def test_what_is_shown_is_admitted(applied: ApiServer, member: Path, shown: Manifest) -> None:
    assert "serverside-applied (server dry run)" in applied_dry(applied, shown.document, member)


@pytest.mark.engine
@pytest.mark.parametrize("shown", [pytest.param(shown, id=str(shown)) for shown in RUNS])
def test_what_is_run_is_admitted(applied: ApiServer, member: Path, shown: Run) -> None:
    assert f"pod/{shown.words[1]} created (server dry run)" in run_dry(applied, shown, member)


@pytest.mark.engine
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_admitted_without_a_warning(applied: ApiServer, member: Path, name: str) -> None:
    reply = applied_dry(applied, EXAMPLES[name], member)
    assert "serverside-applied (server dry run)" in reply
    assert "Warning" not in reply


@pytest.mark.engine
def test_what_a_policy_refuses_would_be_seen(applied: ApiServer, member: Path) -> None:
    for shown in manifests("page", PAGE):
        assert "violates PodSecurity" in applied_dry(applied, shown.document, member)
    for run in runs("page", PAGE):
        assert "violates PodSecurity" in run_dry(applied, run, member)
