"""Kueue and JobSet in the cluster: their definitions, their permissions, their webhooks, and the check by which Kueue
requests nodes from our autoscaler.

The programs run beside each API server (:mod:`components.model.teams.queues`), which calls their webhooks at its own
machine's loopback address (kubernetes.io, "Dynamic Admission Control", ``url``). So a cut link, a lost node or a full
cluster keeps nobody from making pods, and namespaces without a team never wait for the webhooks.

:mod:`queue_objects` has the objects of the programs' own manifests, for the pinned versions (``lab/queue_objects.py``
writes them).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from pulumi import ComponentResource, Output, Resource, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.apiextensions.v1 import CustomResourceDefinition
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.rbac.v1 import ClusterRole

from components.model.teams.queues import JOBSET, KUEUE, MANAGERS, NAMESPACE, Manager, webhooks_name
from components.objects.admission import refuse
from components.objects.object_metadata import meta
from components.objects.program_permissions import grant
from components.objects.queue_changes import CHANGES, changes_policy
from contract.labels import TEAM_LABEL
from contract.object_names import GANGS

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

PART = "queues"
CHECK = "longhaul-gangs"
"""AdmissionCheck with which a ClusterQueue makes a job wait until its nodes exist, and the check's configuration."""
OURS = {"clusterqueues", "cohorts", "resourceflavors"}
"""Cluster-scoped kinds of Kueue that only administrators write."""
PROVISIONING_CONTROLLER = "kueue.x-k8s.io/provisioning-request"
"""Kueue's own controller of such checks (kueue 0.19, apis/kueue/v1beta2, ``ProvisioningRequestControllerName``)."""
OTHERS = (JOBSET.name, "provisioning")
"""Modules whose definitions Kueue uses."""
TIMEOUT_S = 10
"""Time within which a webhook must answer, seconds: the same as Kubernetes' own, although the request does not leave
the machine."""

LEASES: tuple[PolicyRuleArgsDict, ...] = (
    {"api_groups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]},
    {"api_groups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
)
"""Permissions of both programs in :data:`NAMESPACE`, for the election of a leader."""
METRICS: tuple[PolicyRuleArgsDict, ...] = (
    {"api_groups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"api_groups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
)
"""Permissions with which Kueue checks who may read its metrics."""

SEEN = ["get", "list", "watch"]
PEOPLE: dict[str, list[PolicyRuleArgsDict]] = {
    "edit": [
        {"api_groups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["create", "delete", "patch", "update"]}
    ],
    "view": [
        {"api_groups": ["jobset.x-k8s.io"], "resources": ["jobsets", "jobsets/status"], "verbs": SEEN},
        {"api_groups": ["kueue.x-k8s.io"], "resources": ["localqueues", "workloads"], "verbs": SEEN},
        {"api_groups": ["autoscaling.x-k8s.io"], "resources": ["provisioningrequests"], "verbs": SEEN},
    ],
}
"""Permissions of people with the roles ``edit`` and ``view`` in a namespace, in addition to Kubernetes' own
(kubernetes.io, "Using RBAC Authorization", aggregated ClusterRoles). Only administrators write queues and quotas."""


@dataclass(frozen=True, kw_only=True)
class QueuesArgs:
    """Arguments of the queues."""

    authority: Output[str]
    """Certificates of the authority that issued the webhooks' certificates, PEM; of both authorities while one replaces
    another."""


class Queues(ComponentResource):
    """All objects that Kueue and JobSet need in the cluster."""

    def __init__(self, name: str, args: QueuesArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Queues", name, None, opts)
        self._child = ResourceOptions(parent=self)
        self._authority = args.authority.apply(lambda pem: base64.b64encode(pem.encode()).decode())
        # Kueue checks at its start whether the kinds of other projects exist, and leaves out those that do not.
        others = [self._definition(definition) for other in OTHERS for definition in source(other)["definitions"]]
        definitions = [self._definition(definition, after=others) for definition in source(KUEUE.name)["definitions"]]
        defined = [*others, *definitions]
        space = Namespace(NAMESPACE, metadata=meta(NAMESPACE, part=PART), opts=self._child)
        # A policy keeps both programs from writing in namespaces other than teams'.
        limit = refuse("longhaul-queues-teams", teams_policy(), part=PART, parent=self)
        changes = refuse(CHANGES, changes_policy(), part=PART, parent=self)
        for manager in MANAGERS:
            rules = [*source(manager.name)["rules"], *(METRICS if manager is KUEUE else ())]
            grant(
                manager.user,
                rules,
                {NAMESPACE: LEASES},
                part=PART,
                parent=self,
                after=[*defined, space, limit, changes],
            )
            self._webhooks(manager, after=defined)
        for verb, rules in PEOPLE.items():
            self._people(verb, rules)
        self._gangs(after=defined)
        self.register_outputs({})

    def _definition(self, definition: dict[str, Any], *, after: Sequence[Resource] = ()) -> Resource:
        waits = ResourceOptions(parent=self, depends_on=list(after))
        return CustomResourceDefinition(
            definition["name"], metadata=meta(definition["name"], part=PART), spec=definition["spec"], opts=waits
        )

    def _webhooks(self, manager: Manager, *, after: Sequence[Resource]) -> None:
        waits = ResourceOptions(parent=self, depends_on=list(after))
        name = webhooks_name(manager)
        for kind, make in (("mutating", MutatingWebhookConfiguration), ("validating", ValidatingWebhookConfiguration)):
            webhooks = [self._webhook(manager, webhook) for webhook in source(manager.name)[kind]]
            make(f"{name}-{kind}", metadata=meta(name, part=PART), webhooks=webhooks, opts=waits)

    def _webhook(self, manager: Manager, webhook: dict[str, Any]) -> Any:
        """Return a webhook for this cluster: called on the API server's own machine, and only for teams' namespaces."""
        kept = {key: value for key, value in webhook.items() if key != "path"}
        if {resource for rule in webhook["rules"] for resource in rule["resources"]} <= OURS:
            # We write the queues, and their definitions limit their values. `up` does not wait for Kueue, which starts
            # once these exist.
            kept["failurePolicy"] = "Ignore"
        return {
            **kept,
            "clientConfig": {"url": f"https://127.0.0.1:{manager.port}{webhook['path']}", "caBundle": self._authority},
            "namespaceSelector": {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]},
            "timeoutSeconds": TIMEOUT_S,
        }

    def _people(self, verb: str, rules: list[PolicyRuleArgsDict]) -> None:
        name = f"longhaul:queues-{verb}"
        # Whoever may edit may also view, so `view` has the rest (kubernetes.io: `edit` aggregates `view`).
        label = {f"rbac.authorization.k8s.io/aggregate-to-{verb}": "true"}
        ClusterRole(name, metadata=meta(name, part=PART, more_labels=label), rules=rules, opts=self._child)

    def _gangs(self, *, after: Sequence[Resource]) -> None:
        """Make the check that makes a job wait for nodes of our autoscaler."""
        waits = ResourceOptions(parent=self, depends_on=list(after))
        version = "kueue.x-k8s.io/v1beta2"
        config = CustomResource(
            f"{CHECK}-config",
            api_version=version,
            kind="ProvisioningRequestConfig",
            metadata=meta(CHECK, part=PART),
            spec={"provisioningClassName": GANGS},
            opts=waits,
        )
        CustomResource(
            CHECK,
            api_version=version,
            kind="AdmissionCheck",
            metadata=meta(CHECK, part=PART),
            spec={
                "controllerName": PROVISIONING_CONTROLLER,
                "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": CHECK},
            },
            opts=ResourceOptions(parent=self, depends_on=[config]),
        )


def source(name: str) -> dict[str, Any]:
    """Return the content of a file in ``queue_objects``, such as Kueue's."""
    text = resources.files("components.objects").joinpath("queue_objects", f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def teams_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the admission policy that keeps the programs from changing anything in namespaces without a team, except
    their own leases. They may write events anywhere."""
    users = ", ".join(f"'{manager.user}'" for manager in MANAGERS)
    lease = "request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases'"
    return {
        "match_constraints": {
            "resource_rules": [
                {
                    "api_groups": ["*"],
                    "api_versions": ["*"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                    "resources": ["*/*"],
                    "scope": "Namespaced",
                }
            ],
            "namespace_selector": {"match_expressions": [{"key": TEAM_LABEL, "operator": "DoesNotExist"}]},
        },
        "match_conditions": [
            {"name": "queues", "expression": f"request.userInfo.username in [{users}]"},
            {"name": "no-event", "expression": "request.resource.resource != 'events'"},
        ],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": f"request.namespace == '{NAMESPACE}' && ({lease})",
                "message": f"Kueue and JobSet write in teams' namespaces alone (label {TEAM_LABEL})",
                "reason": "Forbidden",
            }
        ],
    }
