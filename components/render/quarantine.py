"""Refusal of machines in quarantine and of people whose access was revoked, by API servers, whatever they present.

Kubernetes knows no list of revoked client certificates, so a node's stays valid for its thirty days, and a person's
token until it ends. But each request is authorized anew: before Node and RBAC stand authorizers of type Webhook, which
only requests of the users of a list reach (``matchConditions``), and which deny them all (images/rootfs,
``quarantine/webhook.py``). An answer that does not come is a refusal as well (``failurePolicy``). kube-apiserver reads
the file again when it changes (kubernetes.io, "Authorization", "Using configuration for authorization"), so no user
data changes with the lists.

People are refused here and not by a rule on their issuer's tokens: kube-apiserver takes a changed authentication
configuration only once every issuer of it has answered (k8s.io/kubernetes 1.36, pkg/kubeapiserver/authenticator,
``updateAuthenticationConfig``), so one that is away would hold a revocation up. And a user who is refused here has a
name in the audit log."""

from __future__ import annotations

from functools import cache
from typing import Any

from components.model.secrets.vault import QUARANTINE, REVOKED
from components.render.documents import yaml_document
from components.render.secrets import SecretFile
from contract.paths import PKI

LIST = "/etc/longhaul/quarantine.json"
"""The list as it is, for the node controller and the join service."""
PEOPLE = "/etc/longhaul/revoked.json"
"""The people whose access was revoked, for ``longhaul-node revoked``."""
CLIENT = "/etc/longhaul/quarantine.kubeconfig"
AUTHORIZATION = f"{PKI}/authorization.yaml"
PORT = 720
"""Port of the webhook on loopback (longhaul-quarantine.socket): one that only root can take, since who answers there
could allow a quarantined machine everything. Debian's /etc/services has no name for it."""


def refusal_files(*, user: str) -> tuple[SecretFile, ...]:
    """Return the files that a server makes of the lists; ``user`` runs kube-apiserver."""
    return (
        SecretFile(path=LIST, content=f"${{{QUARANTINE}}}\n", mode=0o444),
        SecretFile(path=PEOPLE, content=f"${{{REVOKED}}}\n", mode=0o444),
        SecretFile(path=AUTHORIZATION, content=_authorization(), user=user),
    )


@cache
def _authorization() -> str:
    """Return the authorization configuration. Whoever is in ``system:masters`` is allowed before all of these."""
    return yaml_document(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AuthorizationConfiguration",
            "authorizers": [
                _refusing(QUARANTINE),
                _refusing(REVOKED),
                {"type": "Node", "name": "node"},
                {"type": "RBAC", "name": "rbac"},
            ],
        }
    )


def _refusing(secret: str) -> dict[str, Any]:
    """Return the authorizer that denies everything to the users of a secret's list, and is asked of nobody else."""
    return {
        "type": "Webhook",
        "name": secret,
        "webhook": {
            "timeout": "3s",
            "authorizedTTL": "30s",
            "unauthorizedTTL": "30s",
            "cacheAuthorizedRequests": False,
            "subjectAccessReviewVersion": "v1",
            "matchConditionSubjectAccessReviewVersion": "v1",
            "failurePolicy": "Deny",
            "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": CLIENT},
            "matchConditions": [{"expression": f"request.user in ${{{secret}:users}}"}],
        },
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
