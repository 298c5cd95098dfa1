"""Objects of Kueue and JobSet in the cluster, for the versions that tools.toml pins, without the parts that Longhaul
does not use.

After a change of a version there and in ``tools/kueue`` or ``tools/jobset``::

    .venv/bin/python -m lab.queue_objects

writes ``components/objects/queue_objects/*.json`` again. The source is each module's ``config`` folder, rendered by the
pinned kubectl. The definition of ProvisioningRequest comes from the module that Kueue pins.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from components.model.teams.queues import FRAMEWORKS
from lab import tools
from longhaul.toolchain.spec import repository

Object = dict[str, Any]

FOLDER = Path("components/objects/queue_objects")
KUEUE, JOBSET = "sigs.k8s.io/kueue", "sigs.k8s.io/jobset"
PROVISIONING = "k8s.io/autoscaler/cluster-autoscaler/apis"
DEFINITION = "config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml"
PARTS = ("crd", "rbac", "webhook")

OWN = ("kueue.x-k8s.io", "jobset.x-k8s.io", "autoscaling.x-k8s.io")
"""API groups of the definitions themselves."""
GROUPS = frozenset(
    ("", "apps", "batch", "events.k8s.io", "node.k8s.io", "resource.k8s.io", "scheduling.k8s.io", *OWN),
)
"""API groups in which the managers need rights: the groups of the frameworks in :data:`FRAMEWORKS`, and of the objects
that the managers read. Webhook configurations and definitions, into which the managers would write certificates, and
the settings of Kueue's own API server are left out."""
OWNERS = frozenset(
    (
        "kubeflow.org",
        "leaderworkerset.x-k8s.io",
        "ray.io",
        "sparkoperator.k8s.io",
        "trainer.kubeflow.org",
        "workload.codeflare.dev",
    )
)
"""API groups of kinds that Kueue knows and that are no frameworks here. Kueue reads the owners of each new pod and Job,
and lets nobody make one whose owner it may not read (its pkg/controller/jobframework,
``FindAncestorJobManagedByKueue``)."""
READ = ("get", "list", "watch")
SCHEMA = "openAPIV3Schema"
OBJECT, LIST = 3, 2
"""Number of messages in an object and in a list (google.protobuf: Struct, its entry, Value; ListValue, Value)."""
DEEPEST = 66
"""Largest nesting of messages in a schema. protobuf in Python, which the lab's plugins use, reads at most 100 levels;
the resource and the request around the schema need the rest."""
LEAST = 14
"""Nesting of messages that an object needs for plain values and lists of them."""
ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
MULTIKUEUE = "multikueue"
"""Prefix of the names of resources for queues over several clusters, which ``kueue.yaml`` turns off."""


def rendered(module: str, folder: Path, *, kubectl: Path) -> list[Object]:
    """Return the objects that the module in ``folder`` has for a cluster."""
    objects: list[Object] = []
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(folder / "config", scratch, dirs_exist_ok=True)
        for part in PARTS:
            command = [str(kubectl), "kustomize", f"{scratch}/components/{part}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{module}: kubectl kustomize {part}: {done.stderr}")
            objects += yaml.safe_load_all(done.stdout)
    return objects


def chosen(objects: Iterable[Object]) -> Object:
    """Return the parts of a module's objects that Longhaul uses: definitions, rules of its manager, and webhooks."""
    listed = list(objects)
    return {
        "definitions": [
            definition(object_) for object_ in _of(listed, "CustomResourceDefinition") if not _multikueue(object_)
        ],
        "rules": [
            rule
            for role in _of(listed, "ClusterRole")
            if role["metadata"]["name"] == "manager-role"
            for full in role["rules"]
            for rule in _rights(full)
        ],
        "mutating": list(_webhooks(listed, "MutatingWebhookConfiguration")),
        "validating": list(_webhooks(listed, "ValidatingWebhookConfiguration")),
    }


def definition(full: Object) -> Object:
    """Return a definition with only the stored version (so that nothing is converted), without descriptions (nine
    tenths of it), and no deeper than a plugin reads."""
    spec = {key: value for key, value in full["spec"].items() if key != "conversion"}
    versions = [_undescribed(version) for version in spec["versions"] if version["storage"]]
    for version in versions:
        version["schema"] = {SCHEMA: shallow(version["schema"][SCHEMA], DEEPEST)}
    return {"name": full["metadata"]["name"], "spec": {**spec, "versions": versions}}


def shallow(node: Object, left: int) -> Object:
    """Return a schema that is nested at most ``left`` messages deep. The schema accepts deeper values unchecked, such
    as the sources of a pod's volumes; the API server checks these when the pod is made."""
    if _levels(node) <= left:
        return node
    if left < LEAST:
        return {"type": "array", "items": ANYTHING} if node.get("type") == "array" else ANYTHING
    copy = dict(node)
    if "properties" in node:
        copy["properties"] = {
            name: shallow(property_, left - 2 * OBJECT) for name, property_ in node["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            copy[key] = shallow(node[key], left - OBJECT)
    if copy.get("items") == ANYTHING:
        # Without keys: a list by keys must describe them.
        return {"type": "array", "items": ANYTHING}
    return copy


def _levels(value: Any) -> int:
    """Return how deep a value is nested as messages."""
    if isinstance(value, dict):
        return OBJECT + max(map(_levels, value.values()), default=0)
    if isinstance(value, list):
        return LIST + max(map(_levels, value), default=0)
    return 0


def _undescribed(value: Any) -> Any:
    if isinstance(value, list):
        return [_undescribed(item) for item in value]
    if isinstance(value, dict):
        return {
            key: _undescribed(item) for key, item in value.items() if key != "description" or not isinstance(item, str)
        }
    return value


def _rights(rule: Object) -> Iterator[Object]:
    """Yield what a manager needs of a rule: all of it, only reading, or nothing."""
    groups, resources = set(rule["apiGroups"]), [name for name in rule["resources"] if "/" not in name]
    if groups <= GROUPS:
        yield rule
    elif groups <= OWNERS and resources:
        yield {**rule, "resources": resources, "verbs": [verb for verb in rule["verbs"] if verb in READ]}


def _webhooks(objects: Iterable[Object], kind: str) -> Iterator[Object]:
    """Return the webhooks for the frameworks and for the managers' own kinds, without the webhooks' addresses."""
    for configuration in _of(objects, kind):
        for webhook in configuration["webhooks"]:
            if all(_is_ours(rule) for rule in webhook["rules"]):
                kept = ("name", "rules", "failurePolicy", "sideEffects", "admissionReviewVersions", "objectSelector")
                path = webhook["clientConfig"]["service"]["path"]
                yield {"path": path, **{key: webhook[key] for key in kept if key in webhook}}


def _is_ours(rule: Object) -> bool:
    kinds = {(group, resource.partition("/")[0]) for group in rule["apiGroups"] for resource in rule["resources"]}
    return all(group == OWN[0] or (group, resource) in FRAMEWORKS.values() for group, resource in kinds)


def _multikueue(object_: Object) -> bool:
    return str(object_["metadata"]["name"]).startswith(MULTIKUEUE)


def _of(objects: Iterable[Object], kind: str) -> Iterator[Object]:
    return (object_ for object_ in objects if object_["kind"] == kind)


def modules() -> dict[str, tuple[str, Path]]:
    """Return version and folder of each module, by name; fetch missing ones."""
    folders = {}
    for module, tool in ((KUEUE, "kueue"), (JOBSET, "jobset"), (PROVISIONING, "kueue")):
        command = ["go", "mod", "download", "-json", module]
        environ = {**os.environ, "GOFLAGS": "-mod=readonly"}
        place = repository() / "tools" / tool
        done = subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{module}: {done.stderr or done.stdout}")
        description = json.loads(done.stdout)
        folders[module] = (description["Version"], Path(description["Dir"]))
    return folders


def documents(*, kubectl: Path) -> dict[str, Object]:
    """Return the content of the files, by their names."""
    folders = modules()
    made = {
        module.rpartition("/")[2]: {"version": version, **chosen(rendered(module, folder, kubectl=kubectl))}
        for module, (version, folder) in folders.items()
        if module != PROVISIONING
    }
    version, folder = folders[PROVISIONING]
    full = yaml.safe_load((folder / DEFINITION).read_text(encoding="utf-8"))
    return {**made, "provisioning": {"version": version, "definitions": [definition(full)]}}


def text_of(document: Object) -> str:
    """Return a file's text."""
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Write the files again."""
    made = tools.ensure(["kubectl"], log_dir=repository() / ".lab" / "log", progress=print)
    for name, document in documents(kubectl=made["kubectl"]).items():
        (repository() / FOLDER / f"{name}.json").write_text(text_of(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
