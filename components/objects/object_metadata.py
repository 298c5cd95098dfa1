"""Metadata that all objects have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from contract.annotations import FIELD_MANAGER
from contract.labels import MANAGED_BY_LABEL, MANAGER

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import NamedRuleWithOperationsArgsDict
    from pulumi_kubernetes.meta.v1 import ObjectMetaArgsDict


def labels(part: str) -> dict[str, str]:
    """Return the labels of an object of ``part``, such as ``dns`` (kubernetes.io, "Recommended Labels")."""
    return {
        "app.kubernetes.io/name": part,
        "app.kubernetes.io/part-of": MANAGER,
        MANAGED_BY_LABEL: MANAGER,
    }


def meta(
    name: pulumi.Input[str],
    *,
    part: str,
    namespace: str | None = None,
    more_labels: dict[str, str] | None = None,
    annotations: dict[str, pulumi.Input[str]] | None = None,
) -> ObjectMetaArgsDict:
    """Return the metadata of an object of ``part``."""
    metadata: ObjectMetaArgsDict = {
        "name": name,
        "labels": {**labels(part), **(more_labels or {})},
        "annotations": {FIELD_MANAGER: MANAGER, **(annotations or {})},
    }
    if namespace is not None:
        metadata["namespace"] = namespace
    return metadata


def new_pods() -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules of an admission policy that checks new pods."""
    return [{"api_groups": [""], "api_versions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
