"""Values that JobSet's webhook writes into the lists of a new JobSet (its pkg/webhooks/jobset_webhook.go, ``Default``),
and not into those of a changed one, whose lists must stay as they are.

The webhook writes the network of a new JobSet too, and JobSet's controller cannot do without (its
pkg/controllers/jobset_controller.go, ``dnsHostnamesEnabled``). A changed JobSet that leaves it out keeps its own.

A client that patches a JobSet replaces its lists as a whole, because a merge patch knows no other way (RFC 7396):
``kubectl apply`` without ``--server-side``, and Helm. So the same file, applied again, would be refused.
"""

from __future__ import annotations

ROLES = "object.spec.?replicatedJobs.orValue([])"


def jobset_defaults() -> str:
    """Return the patches (CEL) that write these values into a JobSet that is changed, where they are missing."""
    role, rule = "'/spec/replicatedJobs/' + string(i) + '/template/spec", "'/spec/failurePolicy/rules/' + string(i)"
    claims = "'/spec/volumeClaimPolicies/' + string(i)"
    patches = [
        _missing(ROLES, "template.spec.?completionMode", f"{role}/completionMode'", "'Indexed'"),
        _missing(
            ROLES, "template.spec.template.spec.?restartPolicy", f"{role}/template/spec/restartPolicy'", "'OnFailure'"
        ),
        _missing(
            "object.spec.?failurePolicy.?rules.orValue([])",
            "?name",
            f"{rule} + '/name'",
            "'failurePolicyRule' + string(i)",
        ),
        _missing(
            "object.spec.?volumeClaimPolicies.orValue([])",
            "?retentionPolicy",
            f"{claims} + '/retentionPolicy'",
            "{'whenDeleted': 'Delete'}",
        ),
    ]
    network = "JSONPatch{op: 'add', path: '/spec/network', value: dyn(oldObject.spec.network)}"
    patches.append(f"(!has(object.spec.network) && has(oldObject.spec.network) ? [{network}] : [])")
    return f"request.operation == 'UPDATE' && request.resource.resource == 'jobsets' ? {' + '.join(patches)} : []"


def _missing(items: str, field: str, path: str, value: str) -> str:
    """Return the patches (CEL) that add ``value`` at ``path`` to each of ``items`` without ``field``."""
    patch = f"JSONPatch{{op: 'add', path: {path}, value: dyn({value})}}"
    return f"{items}.transformList(i, m, m.{field}.hasValue() ? [] : [{patch}]).flatten()"
