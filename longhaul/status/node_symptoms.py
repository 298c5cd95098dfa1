"""Symptoms of nodes: of hosts, of pools' machines, and of pools as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from contract.reasons.status import StatusReason
from longhaul.status.symptom import Symptom, SymptomSubject

_RACKS = "longhaul hosts --env {env} --limit {name}"
_PREFLIGHT = "longhaul hosts --env {env} --preflight --limit {name}"
_DESCRIBE = "kubectl describe node {name}"

NODES: Sequence[Symptom] = (
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
        look=_DESCRIBE,
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
        shows="a node is cordoned (`SchedulingDisabled`): it takes no new pods, and is `ok` in `status`",
        look=_DESCRIBE,
        mend="kubectl uncordon {name}",
        advice="unless somebody works on it, or a taint or an annotation of `longhaul.dev` shows who has closed it: a "
        "[roll](rolling.md), the [autoscaler](autoscaler.md), a [quarantine](quarantine.md), a machine that its cloud "
        "[takes back](nodes.md#machines-that-are-taken-back)",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.CORDONED,),
    ),
    Symptom(
        shows="a node is not checked yet (label `longhaul.dev/unchecked`): it takes no pods, and is `ok` in `status`",
        look="kubectl get nodes --selector longhaul.dev/unchecked",
        advice="wait some seconds; if it stays so, its machine is in no list: neither its cloud nor the hosts file "
        "knows it",
        page="nodes.md#joining",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.UNCHECKED,),
    ),
    Symptom(
        shows="a node's GPUs are not in service: their test failed, or has not ended",
        look=_DESCRIBE,
        advice="do what the condition `longhaul.dev/GpuHealthy` names; the node tests again by itself. A machine whose "
        "GPU is broken: end it in its cloud, or repair the host",
        page="gpus.md#before-the-first-pod",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.GPUS_HELD_BACK,),
    ),
    Symptom(
        shows="a host or a gateway is off, or does not answer over SSH",
        look=_PREFLIGHT,
        advice="switch it on, or look at its console",
        lab="`python -m lab status --env {env}` names what is off or cut; `python -m lab power {name} on --env {env}` "
        "and `python -m lab tunnel {name} restore --env {env}` end that",
        page="operations.md#something-is-gone",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.NO_ANSWER,),
    ),
    Symptom(
        shows="a host is not a node",
        look=_PREFLIGHT,
        mend=_RACKS,
        page="hosts.md",
        subject=SymptomSubject.HOST,
        reasons=(StatusReason.NOT_JOINED,),
    ),
    Symptom(
        shows="a pool's machine is not a node: `missing`, with its age and the refusal, if any",
        look="kubectl get events --all-namespaces --field-selector reason=NodeRequestDenied",
        advice="do what the refusal names; without a refusal, look at its console, by the command in its row. End a "
        "broken machine: its group makes another",
        page="nodes.md#joining",
        subject=SymptomSubject.POOL_MACHINE,
        reasons=(StatusReason.JOIN_REFUSED, StatusReason.NOT_JOINED),
        stated=True,
    ),
    Symptom(
        shows="a pool has fewer nodes than it must have, or than its groups should have",
        look="longhaul capacity --env {env}",
        advice="a machine that is there and is `unhealthy` or no node has a row of its own among the nodes, with "
        "its commands; otherwise the last column of `capacity` says why the cloud gives none to the autoscaler",
        page="nodes.md#how-many",
        subject=SymptomSubject.POOL,
        reasons=(StatusReason.TOO_FEW_NODES, StatusReason.MACHINES_NOT_JOINED, StatusReason.MACHINES_NOT_MADE),
    ),
)
