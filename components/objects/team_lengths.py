"""The policy for the length of what people write about pods: controllers copy it into every Job of a JobSet, every
revision, every pod and Kueue's workloads, so one large object would become thousands in etcd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.objects.team_conditions import CREATED, by_trusted, pod_specifications, refusing

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

LENGTHS = "longhaul-team-lengths"
"""Name of the policy."""
LONGEST_KIB = 128
"""Longest specification with annotations, in KiB. `kubectl apply` repeats the specification in an annotation, and a
single argument of a program is no longer than this (Linux, ``MAX_ARG_STRLEN``)."""
WHOLE_KIB = 240
"""Longest object with its metadata, in KiB: labels, and what each client writes of fields, have no limit of their own.
etcd takes no object above 1.5 MiB (etcd.io, "System limits"), and JSON may write a character as six. An object at that
limit could not be suspended, ended or counted any more."""
LARGE = f"a job, a template or a pod is at most {WHOLE_KIB} KiB with its labels, annotations and managedFields"
LONG = f"what a job, a template or a pod declares is at most {LONGEST_KIB} KiB: put files into ConfigMaps or volumes"


def lengths_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses specifications of pods that are too long. In a JobSet, that is each role's."""
    roles = "object.spec.?replicatedJobs.orValue([]).map(r, [r])"
    other = "[[object.spec, object.metadata.?annotations.orValue({})]]"
    declared = f"(request.resource.resource == 'jobsets' ? {roles} : {other})"
    short = f"{declared}.all(d, '%s'.format([d]).size() <= {LONGEST_KIB * 1024})"
    whole = "bytes('%s'.format([[{0}.metadata, {0}.spec]])).size()"
    small = f"{whole.format('object')} <= {WHOLE_KIB * 1024}"
    smaller = f"!({CREATED}) && {whole.format('object')} <= {whole.format('oldObject')}"
    # Controllers copy what was short enough.
    trusted = by_trusted()
    return refusing(
        pod_specifications("CREATE", "UPDATE"),
        {f"{trusted} || {short}": LONG, f"{trusted} || {small} || {smaller}": LARGE},
    )
