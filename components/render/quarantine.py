"""Refusal of machines in quarantine by API servers, whatever certificate they present.

Kubernetes knows no list of revoked client certificates, so a node's stays valid for its thirty days. But each request
is authorized anew: before Node and RBAC stands an authorizer of type Webhook, which only requests of quarantined users
reach (``matchConditions``), and which denies them all (images/rootfs, ``quarantine_webhook.py``). An answer that does
not come is a refusal as well (``failurePolicy``). kube-apiserver reads the file again when it changes (kubernetes.io,
"Authorization", "Using configuration for authorization"), so no user data changes with the list."""

from __future__ import annotations

from typing import Any

from components.model.vault import QUARANTINE
from components.render.documents import yaml_document
from components.render.secrets import PKI, SecretFile

LIST = "/etc/longhaul/quarantine.json"
"""The list as it is, for the node controller and the join service."""
CLIENT = "/etc/longhaul/quarantine.kubeconfig"
AUTHORIZATION = f"{PKI}/authorization.yaml"
PORT = 720
"""Port of the webhook on loopback (longhaul-quarantine.socket): one that only root can take, since who answers there
could allow a quarantined machine everything. Debian's /etc/services has no name for it."""


def refusal_files(*, user: str) -> tuple[SecretFile, ...]:
    """Return the files that a server makes of the list; ``user`` runs kube-apiserver."""
    return (
        SecretFile(path=LIST, content=f"${{{QUARANTINE}}}\n", mode=0o444),
        SecretFile(path=AUTHORIZATION, content=yaml_document(_authorization()), user=user),
    )


def _authorization() -> dict[str, Any]:
    """Return the authorization configuration. Whoever is in ``system:masters`` is allowed before all of these."""
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthorizationConfiguration",
        "authorizers": [
            {
                "type": "Webhook",
                "name": "quarantine",
                "webhook": {
                    "timeout": "3s",
                    "authorizedTTL": "30s",
                    "unauthorizedTTL": "30s",
                    "cacheAuthorizedRequests": False,
                    "subjectAccessReviewVersion": "v1",
                    "matchConditionSubjectAccessReviewVersion": "v1",
                    "failurePolicy": "Deny",
                    "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": CLIENT},
                    "matchConditions": [{"expression": f"request.user in ${{{QUARANTINE}:users}}"}],
                },
            },
            {"type": "Node", "name": "node"},
            {"type": "RBAC", "name": "rbac"},
        ],
    }


def refusing_client() -> dict[str, Any]:
    """Return the kubeconfig with which kube-apiserver asks. Plain HTTP: it does not leave the machine, and only root
    can listen there."""
    name = "quarantine"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"http://127.0.0.1:{PORT}/"}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
