"""Configuration of the provider: text from the engine, or environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "kubernetes:config:"
KNOWN = frozenset(
    {
        "cluster",
        "clusterIdentifier",
        "context",
        "deleteUnreachable",
        "enableConfigMapMutable",
        "enablePatchForce",
        "enableSecretMutable",
        "enableServerSideApply",
        "kubeconfig",
        "namespace",
        "skipUpdateUnreachable",
        "suppressDeprecationWarnings",
        "suppressHelmHookWarnings",
        "upsertExistingObjects",
    }
)
"""Options that the lab's plugin understands, or can ignore without visible effect (warnings)."""


@dataclass(frozen=True, kw_only=True)
class KubernetesSettings:
    """Options with the meaning that the real plugin's options of the same names have."""

    kubeconfig: str = ""
    context: str = ""
    cluster: str = ""
    namespace: str = ""
    server_side_apply: bool = True
    patch_force: bool = False
    upsert: bool = False
    mutable_maps: bool = False
    mutable_secrets: bool = False
    delete_unreachable: bool = False
    skip_unreachable: bool = False


def read_settings(variables: Mapping[str, str]) -> KubernetesSettings:
    """Return the settings from the engine's variables; ``ValueError`` names an option that the lab's plugin does not
    know."""
    given = {key.removeprefix(PREFIX): value for key, value in variables.items() if value not in ("", "null")}
    unknown = sorted(given.keys() - KNOWN - {"version", "pluginDownloadURL"})
    if unknown:
        raise ValueError(f"the lab's kubernetes plugin does not know the provider's {', '.join(unknown)}")

    def on(name: str, variable: str, *, default: bool = False) -> bool:
        setting = given.get(name, os.environ.get(f"PULUMI_K8S_{variable}", "true" if default else "false"))
        return setting.strip('"') == "true"

    return KubernetesSettings(
        kubeconfig=given.get("kubeconfig", ""),
        context=given.get("context", ""),
        cluster=given.get("cluster", ""),
        namespace=given.get("namespace", ""),
        server_side_apply=on("enableServerSideApply", "ENABLE_SERVER_SIDE_APPLY", default=True),
        patch_force=on("enablePatchForce", "ENABLE_PATCH_FORCE"),
        upsert=on("upsertExistingObjects", "UPSERT_EXISTING_OBJECTS"),
        mutable_maps=on("enableConfigMapMutable", "ENABLE_CONFIGMAP_MUTABLE"),
        mutable_secrets=on("enableSecretMutable", "ENABLE_SECRET_MUTABLE"),
        delete_unreachable=on("deleteUnreachable", "DELETE_UNREACHABLE"),
        skip_unreachable=on("skipUpdateUnreachable", "SKIP_UPDATE_UNREACHABLE"),
    )


def replacing(olds: Mapping[str, Any], news: Mapping[str, Any]) -> list[str]:
    """Return the changed options that mean another cluster. Every object is then made again in that cluster.

    If ``olds`` and ``news`` have a ``clusterIdentifier``, only this option distinguishes clusters. Otherwise the real
    plugin compares the kubeconfigs' active clusters; here another kubeconfig, context or cluster is another cluster.
    """
    before, after = olds.get("clusterIdentifier"), news.get("clusterIdentifier")
    if before and after:
        return ["clusterIdentifier"] if before != after else []
    return [key for key in ("kubeconfig", "context", "cluster") if olds.get(key) != news.get(key)]
