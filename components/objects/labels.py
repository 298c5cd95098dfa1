"""What every object's metadata has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import NamedRuleWithOperationsArgsDict
    from pulumi_kubernetes.meta.v1 import ObjectMetaArgsDict

MANAGER = "longhaul"
SYSTEM = "kube-system"
"""Namespace of everything of ours that lives in one."""
FIELD_MANAGER = "pulumi.com/patchFieldManager"
"""The provider's annotation for the name that server-side apply keeps our fields under. Its own choice is random for
each object and is lost with a run that is killed; a name of ours lets the next run go on with what is there."""


def labels(part: str) -> dict[str, str]:
    """Labels of an object of one part, such as ``dns`` (kubernetes.io, "Recommended Labels")."""
    return {
        "app.kubernetes.io/name": part,
        "app.kubernetes.io/part-of": MANAGER,
        "app.kubernetes.io/managed-by": MANAGER,
    }


def meta(
    name: pulumi.Input[str],
    *,
    part: str,
    namespace: str | None = None,
    more_labels: dict[str, str] | None = None,
    annotations: dict[str, pulumi.Input[str]] | None = None,
) -> ObjectMetaArgsDict:
    """Metadata of an object of one part."""
    found: ObjectMetaArgsDict = {
        "name": name,
        "labels": {**labels(part), **(more_labels or {})},
        "annotations": {FIELD_MANAGER: MANAGER, **(annotations or {})},
    }
    if namespace is not None:
        found["namespace"] = namespace
    return found


def new_pods() -> list[NamedRuleWithOperationsArgsDict]:
    """The rules of an admission policy that looks at pods when they are made."""
    return [{"api_groups": [""], "api_versions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
