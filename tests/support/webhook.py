"""An admission webhook in a pod: Kubernetes' own test image behind a Service, with a certificate of the test's own."""

from __future__ import annotations

import base64
from typing import Any

from components.control_plane.issuing import Pair, Subject, issue, new_authority, new_key
from tests.support.project import Project
from tests.support.workload import IMAGE

PORT = 8444
SAYS = "this webhook denies all requests"
"""Message of its ``/always-deny``."""


def deny_labelled(project: Project, name: str, *, site: str, version: str) -> None:
    """Make a webhook on a node of ``site`` refuse every new ConfigMap with the label ``refused-by: <name>``."""
    authority = new_authority(common_name=name, days=1, key=new_key())
    host = f"{name}.default.svc"
    pair = issue(Subject(common_name=host, dns_names=[host], usages=["server"], days=1), authority=authority)
    project.create({"apiVersion": "v1", "kind": "List", "items": _served(name, site, version, pair)})
    project.kubectl("wait", "--for=condition=Ready", "--timeout=300s", f"pod/{name}")
    project.create(_configuration(name, authority.certificate))


def _served(name: str, site: str, version: str, pair: Pair) -> list[dict[str, Any]]:
    metadata = {"name": name}
    container = {
        "name": "agnhost",
        "image": f"{IMAGE}:{version}",
        "args": ["webhook", f"--port={PORT}", "--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key"],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": PORT, "scheme": "HTTPS"}, "periodSeconds": 1},
        "volumeMounts": [{"name": "tls", "mountPath": "/tls", "readOnly": True}],
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": "kubernetes.io/tls",
            "stringData": {"tls.crt": pair.certificate, "tls.key": pair.key},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {"app": name}, "ports": [{"port": 443, "targetPort": PORT}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "nodeSelector": {"longhaul.dev/site": site},
                "containers": [container],
                "volumes": [{"name": "tls", "secret": {"secretName": name}}],
                "terminationGracePeriodSeconds": 1,
            },
        },
    ]


def _configuration(name: str, authority: str) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.longhaul.test",
                "clientConfig": {
                    "service": {"name": name, "namespace": "default", "path": "/always-deny"},
                    "caBundle": base64.b64encode(authority.encode()).decode(),
                },
                "rules": [rule],
                "objectSelector": {"matchLabels": {"refused-by": name}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 10,
            }
        ],
    }
