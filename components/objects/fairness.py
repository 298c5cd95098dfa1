"""Priority and fairness: shares of the API servers' requests, so that a flood of lists starves nobody.

Kubernetes' own levels protect heartbeats (``node-high``) and its own controllers (``leader-election``,
``workload-high``). Two things are missing. Our controllers are ordinary users to Kubernetes, and would queue together
with people. And lists, the requests that cost most memory and time, may use the whole share of their client's other
requests.

So our controllers join the levels of Kubernetes' controllers, and lists of service accounts and people have a level of
their own: its share is small, and at most doubled by shares that others leave idle. Watches use that level too, because
a watch may begin with a list. Events that people and service accounts write use it, because the admission plugin that
limits events checks only one of their two API groups (kubernetes 1.36, plugin/pkg/admission/eventratelimit,
``Validate``). Nodes, controllers and ``kube-system`` do not use it, because their schemas come first. All levels share
kube-apiserver's limits of requests (:mod:`components.model.control_plane.size`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.flowcontrol.v1 import FlowSchema, PriorityLevelConfiguration

from components.model.secrets.certificates import ADMINISTRATORS_GROUP, AUTOSCALER_USER, NODE_CONTROLLER
from components.objects.object_metadata import meta
from contract.object_names import SYSTEM_NAMESPACE
from contract.users import ACCOUNTANT_USER, JOIN_USER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pulumi_kubernetes.flowcontrol.v1 import PriorityLevelConfigurationSpecArgsDict
    from pulumi_kubernetes.flowcontrol.v1._inputs import ResourcePolicyRuleArgsDict, SubjectArgsDict

PART = "fairness"
LISTS = "longhaul-lists"
SHARES = 30
"""Share of the level of lists: 66 of 600 seats, where the shares of all levels, with Kubernetes' own, are 275. One list
takes at most 10 of them (15% of its level; kubernetes 1.36, apiserver/pkg/util/flowcontrol/apf_controller.go)."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A flow schema: which requests go to which level."""

    name: str
    level: str
    precedence: int
    """Schemas with a lower number are matched first. Kubernetes' own are at 100 (leader election), 400 and 500 (nodes),
    800 (its controllers), 900 (``kube-system``), 9000 (service accounts) and 9900 (everybody;
    apiserver/pkg/apis/flowcontrol/bootstrap/default.go)."""
    subjects: Sequence[SubjectArgsDict]
    rule: ResourcePolicyRuleArgsDict


EVERYBODY: tuple[SubjectArgsDict, ...] = ({"kind": "Group", "group": {"name": "system:authenticated"}},)
"""All users with an identity. Nodes, controllers and ``kube-system`` are in schemas that come first."""


def _users(*names: str) -> tuple[SubjectArgsDict, ...]:
    return tuple({"kind": "User", "user": {"name": name}} for name in names)


def _every(*verbs: str) -> ResourcePolicyRuleArgsDict:
    return {
        "verbs": verbs,
        "api_groups": ["*"],
        "resources": ["*"],
        "namespaces": ["*"],
        "cluster_scope": True,
    }


SCHEMAS = (
    # Like Kubernetes' own for system:masters: whoever stops a flood must not queue behind it.
    Schema(
        name="longhaul-admins",
        level="exempt",
        precedence=50,
        subjects=({"kind": "Group", "group": {"name": ADMINISTRATORS_GROUP}},),
        rule=_every("*"),
    ),
    Schema(
        name="longhaul-leader-election",
        level="leader-election",
        precedence=110,
        subjects=_users(NODE_CONTROLLER, AUTOSCALER_USER, ACCOUNTANT_USER),
        rule={
            "verbs": ["get", "create", "patch"],
            "api_groups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "namespaces": [SYSTEM_NAMESPACE],
        },
    ),
    Schema(
        name="longhaul-controllers",
        level="workload-high",
        precedence=810,
        subjects=_users(NODE_CONTROLLER, AUTOSCALER_USER, ACCOUNTANT_USER, JOIN_USER),
        rule=_every("*"),
    ),
    Schema(
        name="longhaul-events",
        level=LISTS,
        precedence=7900,
        subjects=EVERYBODY,
        rule={
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            "api_groups": ["", "events.k8s.io"],
            "resources": ["events"],
            "namespaces": ["*"],
        },
    ),
    Schema(
        name=LISTS,
        level=LISTS,
        precedence=8000,
        subjects=EVERYBODY,
        rule=_every("list", "watch"),
    ),
)


class Fairness(ComponentResource):
    """The level of lists, and the schemas."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Fairness", name, None, opts)
        level = PriorityLevelConfiguration(
            LISTS, metadata=meta(LISTS, part=PART), spec=_lists(), opts=ResourceOptions(parent=self)
        )
        for schema in SCHEMAS:
            FlowSchema(
                schema.name,
                metadata=meta(schema.name, part=PART),
                spec={
                    "priority_level_configuration": {"name": schema.level},
                    "matching_precedence": schema.precedence,
                    "distinguisher_method": {"type": "ByUser"},
                    "rules": [{"subjects": schema.subjects, "resource_rules": [schema.rule]}],
                },
                opts=ResourceOptions(parent=self, depends_on=[level]),
            )
        self.register_outputs({})


def _lists() -> PriorityLevelConfigurationSpecArgsDict:
    """Return the level of lists, with queues like those of Kubernetes' own levels of workloads."""
    return {
        "type": "Limited",
        "limited": {
            "nominal_concurrency_shares": SHARES,
            "lendable_percent": 50,
            "borrowing_limit_percent": 100,
            "limit_response": {"type": "Queue", "queuing": {"queues": 128, "hand_size": 6, "queue_length_limit": 50}},
        },
    }
