"""Symptoms of pods, of add-ons, and of the names that pods resolve.

Words for what pods show are Kubernetes' own (kubernetes.io, "Debug Pods" and "Determine the Reason for Pod Failure").
"""

from __future__ import annotations

from collections.abc import Sequence

from contract.reasons.status import StatusReason
from longhaul.status.symptom import Symptom, SymptomSubject

_DESCRIBE = "kubectl --namespace {namespace} describe pod {name}"
_OBJECTS = "longhaul up --env {env} --only objects"

PODS: Sequence[Symptom] = (
    Symptom(
        shows="a pod stays `Pending` and has no node",
        look=_DESCRIBE,
        advice="change what the scheduler names: the pod's requests, selector or tolerations, or the pool's `max`; "
        "`longhaul autoscaler --env {env} --once --dry-run` says which machines it gets, or why none",
        page="autoscaler.md#what-waits",
        subject=SymptomSubject.PODS,
        reasons=(StatusReason.POD_UNSCHEDULED,),
    ),
    Symptom(
        shows="a pod stays `Pending`, and so does its PersistentVolumeClaim",
        look="kubectl --namespace {namespace} describe persistentvolumeclaim {claim}",
        advice="install a provisioner with its storage class, or make a volume: Longhaul brings no storage",
        page="limits.md",
        subject=SymptomSubject.PODS,
        reasons=(StatusReason.VOLUME_NOT_BOUND,),
    ),
    Symptom(
        shows="a pod's image is not pulled: `ErrImagePull`, `ImagePullBackOff`, `InvalidImageName`",
        look=_DESCRIBE,
        advice="correct the image's name or the pod's pull secret; a site with a depot has only the images that were "
        "put into it",
        page="depot.md#what-is-believed",
        subject=SymptomSubject.PODS,
        reasons=(StatusReason.IMAGE_NOT_PULLED,),
    ),
    Symptom(
        shows="a pod stays `ContainerCreating`, or shows `CreateContainerConfigError` or `RunContainerError`",
        look=_DESCRIBE,
        advice="correct what its last event names, such as a missing ConfigMap, Secret or volume",
        subject=SymptomSubject.PODS,
        reasons=(StatusReason.POD_NOT_STARTED,),
    ),
    Symptom(
        shows="a container died: `CrashLoopBackOff`, `OOMKilled`, `Error`; `kubectl describe pod` has its `Last "
        "State`. `status` shows only pods whose init container dies",
        look="kubectl --namespace {namespace} logs {name} --all-containers --previous",
        advice="after `OOMKilled`, raise its `limits.memory`; exit code 137 is SIGKILL, 143 SIGTERM, 139 a crash; any "
        "other is the program's own",
        subject=SymptomSubject.PODS,
        reasons=(StatusReason.CONTAINER_DIED,),
    ),
)

ADDONS: Sequence[Symptom] = (
    Symptom(
        shows="an add-on is not in the cluster, such as CoreDNS",
        look="kubectl --namespace kube-system get deployments,daemonsets",
        mend=_OBJECTS,
        subject=SymptomSubject.ADDON,
        reasons=(StatusReason.NOT_DEPLOYED,),
    ),
    Symptom(
        shows="an add-on's pods are not ready",
        look="kubectl --namespace kube-system get pods --output wide",
        mend=_OBJECTS,
        advice="unless its node or its link came back a moment ago: then wait a minute",
        subject=SymptomSubject.ADDON,
        reasons=(StatusReason.PODS_NOT_READY,),
    ),
    Symptom(
        shows="an add-on is `unknown`: there is no node on which it could run",
        look="longhaul status --env {env}",
        advice="bring a node back, or raise a pool's `min`: the rows of pools and nodes say what is missing",
        page="nodes.md#how-many",
        subject=SymptomSubject.ADDON,
        reasons=(StatusReason.NO_NODES,),
    ),
    Symptom(
        shows="a name is not resolved in a pod: `could not resolve host`, `NXDOMAIN`, `i/o timeout`",
        look="kubectl --namespace {namespace} exec {name} -- cat /etc/resolv.conf",
        mend=_OBJECTS,
        advice="if `status` misses an add-on coredns; else look at the node's cache: `longhaul-node status` there",
        page="dns.md",
    ),
)
