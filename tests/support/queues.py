"""A team's queue and jobs for it, as the API takes them."""

from __future__ import annotations

from typing import Any

from contract.labels import TEAM_LABEL

QUEUE = {"kueue.x-k8s.io/queue-name": "default"}
"""Label of a job that goes into its team's queue."""
VERSION = "kueue.x-k8s.io/v1beta2"


def team_space(name: str) -> dict[str, Any]:
    """Return the namespace of a team."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {TEAM_LABEL: name}}}


def team_queue(team: str, *, cores: str) -> tuple[dict[str, Any], ...]:
    """Return the queue of a team that may use so many cores, of whatever kind."""
    quota = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": cores}]}
    return (
        {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
        {
            "apiVersion": VERSION,
            "kind": "ClusterQueue",
            "metadata": {"name": team},
            "spec": {
                "namespaceSelector": {"matchLabels": {TEAM_LABEL: team}},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
            },
        },
        {
            "apiVersion": VERSION,
            "kind": "LocalQueue",
            "metadata": {"name": "default", "namespace": team},
            "spec": {"clusterQueue": team},
        },
    )


def job(name: str, pods: int, spec: dict[str, Any], *, where: str) -> dict[str, Any]:
    """Return a job of so many pods at once, for the queue of its namespace."""
    metadata = {"name": name, "namespace": where, "labels": QUEUE}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": _pods(pods, spec)}


def jobset(name: str, roles: dict[str, int], spec: dict[str, Any], *, where: str) -> dict[str, Any]:
    """Return a set with a job of so many pods for each role, for the queue of its namespace."""
    jobs = [{"name": role, "template": {"spec": _pods(pods, spec)}} for role, pods in roles.items()]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": where, "labels": QUEUE},
        "spec": {"replicatedJobs": jobs},
    }


def deployment(name: str, spec: dict[str, Any], *, where: str) -> dict[str, Any]:
    """Return a deployment of one pod, of no queue."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": where},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def _pods(count: int, spec: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {**spec, "restartPolicy": "Never"}}
    return {"parallelism": count, "completions": count, "template": template}
