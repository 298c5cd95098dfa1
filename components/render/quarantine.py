"""Files by which API servers refuse machines in quarantine and people whose access was revoked, whatever credential
they present.

Kubernetes has no list of revoked client certificates, so a node's certificate stays valid for its thirty days, and a
person's token until it expires. But each request is authorized again: authorizers of type Webhook come before Node and
RBAC. Only requests of users on a list reach the webhooks (``matchConditions``), which deny all of them
(``quarantine/webhook.py`` in images/rootfs). A missing answer is a refusal as well (``failurePolicy``). kube-apiserver
reads a changed configuration again (kubernetes.io, "Authorization", "Using configuration for authorization"), so no
user data changes with the lists.

People are refused here and not by a rule on their issuer's tokens, because kube-apiserver takes a changed
authentication configuration only once all of its issuers have answered (k8s.io/kubernetes 1.36,
pkg/kubeapiserver/authenticator, ``updateAuthenticationConfig``), so a single unreachable issuer would delay a
revocation. Also, a user who is refused here has a name in the audit log.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from components.model.secrets.vault import QUARANTINE, REVOKED
from components.render.documents import yaml_document
from contract.documents import quarantine, revoked
from contract.documents.secret_files import SecretFile
from contract.paths import PKI

CLIENT = "/etc/longhaul/quarantine.kubeconfig"
AUTHORIZATION = f"{PKI}/authorization.yaml"
PORT = 720
"""Port of the webhook on loopback (longhaul-quarantine.socket). Only root can open it: whoever answers there could
allow a quarantined machine everything. Debian's /etc/services has no name for it."""


def refusal_files(*, user: str) -> tuple[SecretFile, ...]:
    """Return the files that an API server makes of the lists; ``user`` is the user of kube-apiserver."""
    return (
        SecretFile(path=quarantine.PATH, content=f"${{{QUARANTINE}}}\n", mode=0o444),
        SecretFile(path=revoked.PATH, content=f"${{{REVOKED}}}\n", mode=0o444),
        SecretFile(path=AUTHORIZATION, content=_authorization(), user=user),
    )


@cache
def _authorization() -> str:
    """Return the authorization configuration. Requests of ``system:masters`` are allowed before any of these
    authorizers."""
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
    """Return the authorizer that denies everything to the users on a secret's list. It is called for nobody else."""
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
    """Return the kubeconfig with which kube-apiserver calls the webhook. The connection is plain HTTP: it does not
    leave the machine, and only root can listen on the port."""
    name = "quarantine"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"http://127.0.0.1:{PORT}/"}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
