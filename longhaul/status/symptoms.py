"""Symptoms: each with the command that looks, and the command that mends. ``status`` names both beside a verdict,
and docs/symptoms.md shows all of them; this table is the only place for either.

Words for what pods show are Kubernetes' own (kubernetes.io, "Debug Pods" and "Determine the Reason for Pod Failure").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Protocol, TypeVar

from clouds.base.findings import Severity
from contract.reasons.status import StatusReason
from longhaul.report.status_verdict import StatusVerdict


class SymptomSubject(StrEnum):
    """Kind of a part of the environment, as far as its commands differ."""

    PODS = "pods"
    HOST = "host"
    POOL_MACHINE = "pool machine"
    GATEWAY = "gateway"
    RACK_LINK = "rack link"
    CLOUD_LINK = "cloud link"
    CONTROL_MACHINE = "control machine"
    ADDON = "add-on"


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """A symptom. Commands contain ``{env}``, ``{name}``, and for pods ``{namespace}`` and ``{claim}``."""

    shows: str
    """The sight, for the page, in Markdown."""
    look: str
    """Command that looks."""
    mend: str = ""
    """Command that mends; empty when none does for all cases."""
    advice: str = ""
    """Advice where no command mends, or the condition under which the command is right."""
    page: str = ""
    """Page that says more, with its anchor."""
    subject: SymptomSubject | None = None
    """None for a symptom that ``status`` does not see."""
    reasons: tuple[StatusReason, ...] = ()

    def sentence(self, **names: str) -> str:
        """Return the commands for a subject with these names."""
        mend = ", ".join(filter(None, (f"to mend: `{self.mend}`" if self.mend else "", self.advice)))
        return f"to look: `{self.look}`; {mend}".format(**names)

    def row(self) -> str:
        """Return the row of the page."""
        names = {"env": "E", "name": "NAME", "namespace": "NAMESPACE", "claim": "CLAIM"}
        mend = ", ".join(filter(None, (f"`{self.mend}`" if self.mend else "", self.advice))).format(**names)
        more = f" ([more]({self.page}))" if self.page else ""
        return f"| {self.shows} | `{self.look.format(**names)}` | {mend}{more} |"


_DESCRIBE = "kubectl --namespace {namespace} describe pod {name}"
_RACKS = "longhaul hosts --env {env} --limit {name}"
_OBJECTS = "longhaul up --env {env} --only objects"

SYMPTOMS: Sequence[Symptom] = (
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
        shows="a container died: `CrashLoopBackOff`, `OOMKilled`, `Error`; `kubectl describe pod` has its `Last State`",
        look="kubectl --namespace {namespace} logs {name} --all-containers --previous",
        advice="after `OOMKilled`, raise its `limits.memory`; exit code 137 is SIGKILL, 143 SIGTERM, 139 a crash; any "
        "other is the program's own",
        subject=SymptomSubject.PODS,
        reasons=(StatusReason.CONTAINER_DIED,),
    ),
    Symptom(
        shows="a host's kubelet is silent or its services fail, the node becomes `NotReady`",
        look="longhaul shell --env {env} {name} -- systemctl status kubelet containerd",
        mend=_RACKS,
        page="operations.md#something-is-gone",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.KUBELET_SILENT, StatusReason.NODE_NOT_READY, StatusReason.CHECKS_FAILED),
    ),
    Symptom(
        shows="the kubelet of a pool's machine is silent, the node becomes `NotReady`",
        look="kubectl describe node {name}",
        mend="longhaul shell --env {env} {name} -- systemctl restart kubelet",
        advice="in a lab; in a cloud end the machine, and its group makes another",
        page="nodes.md#how-many",
        subject=SymptomSubject.POOL_MACHINE,
        reasons=(StatusReason.KUBELET_SILENT, StatusReason.NODE_NOT_READY),
    ),
    Symptom(
        shows="a node has `DiskPressure` or `MemoryPressure`: it takes no pods, and evicts some",
        look="longhaul shell --env {env} {name} -- df -h /var/lib/kubelet /var/lib/containerd",
        advice="make room; pods' logs and local data count, images without pods are removed by the kubelet",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.NODE_PRESSURE,),
    ),
    Symptom(
        shows="a host or a gateway does not answer over SSH",
        look="longhaul hosts --env {env} --preflight --limit {name}",
        advice="switch it on, or look at its console",
        page="operations.md#something-is-gone",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.NO_ANSWER,),
    ),
    Symptom(
        shows="a host is not a node",
        look="longhaul hosts --env {env} --preflight --limit {name}",
        mend=_RACKS,
        page="hosts.md",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.NOT_JOINED,),
    ),
    Symptom(
        shows="a gateway's strongSwan or firewall does not run",
        look="longhaul shell --env {env} {name} -- systemctl status strongswan longhaul-gateway-firewall",
        mend=_RACKS,
        subject=SymptomSubject.GATEWAY,
        reasons=(StatusReason.CHECKS_FAILED,),
    ),
    Symptom(
        shows="a link to a rack is down",
        look="longhaul hosts --env {env} --preflight --limit gateways",
        mend="longhaul hosts --env {env} --limit gateways",
        page="network.md",
        subject=SymptomSubject.RACK_LINK,
        reasons=(StatusReason.TUNNELS_DOWN,),
    ),
    Symptom(
        shows="a link between two clouds is down",
        look="longhaul plan --env {env}",
        mend="longhaul up --env {env} --only infrastructure",
        page="network.md",
        subject=SymptomSubject.CLOUD_LINK,
        reasons=(StatusReason.TUNNELS_DOWN,),
    ),
    Symptom(
        shows="a machine of the control plane is `unhealthy`: an etcd member, an API server",
        look="longhaul shell --env {env} {name} -- systemctl --failed",
        mend="longhaul up --env {env} --replace {name}",
        advice="if it stays so",
        page="operations.md#replace-machines-a-new-image-another-size-changed-settings",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED,),
    ),
    Symptom(
        shows="a certificate of the control plane ends soon, or has ended",
        look="longhaul status --env {env}",
        mend="longhaul up --env {env}",
        page="certificates.md#a-certificate-ends-soon-or-has-ended",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CERTIFICATE_ENDED, StatusReason.CERTIFICATE_ENDS_SOON),
    ),
    Symptom(
        shows="kubectl: `certificate has expired or is not yet valid`, and `status` names none",
        look="kubectl config view",
        mend="longhaul kubeconfig --env {env}",
        advice="if your own certificate has ended; otherwise compare the machine's clock",
        page="certificates.md#an-administrators-certificate",
    ),
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
        subject=SymptomSubject.ADDON,
        reasons=(StatusReason.PODS_NOT_READY,),
    ),
    Symptom(
        shows="a name is not resolved in a pod: `could not resolve host`, `NXDOMAIN`, `i/o timeout`",
        look="kubectl --namespace {namespace} exec {name} -- cat /etc/resolv.conf",
        mend=_OBJECTS,
        advice="if `status` misses an add-on coredns; else look at the node's cache: `longhaul-node status` there",
        page="dns.md",
    ),
)


class Part(Protocol):
    """A judged part of the environment."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """Name."""

    @property
    def verdict(self) -> StatusVerdict:
        """Verdict."""

    @property
    def reason(self) -> StatusReason:
        """Reason of the verdict."""

    @property
    def message(self) -> str:
        """Sentence."""


JudgedPart = TypeVar("JudgedPart", bound=Part)


def symptom_of(subject: SymptomSubject, reason: StatusReason) -> Symptom | None:
    """Return the symptom of a subject with that reason."""
    return next((item for item in SYMPTOMS if item.subject is subject and reason in item.reasons), None)


def advised(part: JudgedPart, env: str, *subjects: SymptomSubject) -> JudgedPart:
    """Return a part whose message names the commands for its reason, unless nothing is wrong. The first of the subjects
    that has the reason counts."""
    symptom = next(filter(None, (symptom_of(subject, part.reason) for subject in subjects)), None)
    if symptom is None or part.verdict.severity in (Severity.OK, Severity.UNKNOWN):
        return part
    return replace(part, message=f"{part.message}; {symptom.sentence(env=env, name=part.name)}")


def table() -> str:
    """Return the table of docs/symptoms.md."""
    head = ("| What one sees | To look | To mend |", "|---|---|---|")
    return "\n".join((*head, *(symptom.row() for symptom in SYMPTOMS)))
