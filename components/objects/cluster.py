"""All objects on the cluster, from the environment and the outputs of its infrastructure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi
from pulumi import ComponentResource, Output, Resource, ResourceOptions, StackReference
from pulumi_kubernetes import Provider

from components.model import AddressPlan, Environment, plan
from components.model.nodes.gpu_promises import has_gpus
from components.model.nodes.rdma import SHARED, rdma_kinds
from components.model.teams.queues import has_queues
from components.objects.account_tokens import AccountTokens
from components.objects.accountant import AccountantAccess
from components.objects.autoscaler import AutoscalerAccess, AutoscalerArgs, prices_of
from components.objects.capacity import Capacity
from components.objects.dns import Dns, DnsArgs
from components.objects.efa import EfaDevicePlugin
from components.objects.fairness import Fairness
from components.objects.groups import GroupBindings
from components.objects.metadata_service import InstanceMetadata
from components.objects.network_policy_warning import NetworkPolicyWarning
from components.objects.node_and_program_rbac import NodeAccess
from components.objects.node_controller_document import EnvironmentDocument, EnvironmentDocumentArgs
from components.objects.node_labels import NodeLabels
from components.objects.node_permissions import NodePermissions
from components.objects.nvidia_gpus import Gpus
from components.objects.pod_priorities import PriorityClasses
from components.objects.queue_managers import Queues, QueuesArgs
from components.objects.rdma import SharedRdma
from components.objects.teams import Teams
from components.objects.training_tolerations import TrainingPods
from components.render.node_controller_document import pools_by_role


def declare(environment: Environment, *, folder: Path) -> None:
    """Declare the second stack of ``environment``, with the outputs of the first stack that it needs. In a preview,
    outputs that do not exist yet are unknown."""
    stack = StackReference(f"{pulumi.get_organization()}/{pulumi.get_project()}/{environment.name}")
    by_role = bool(pools_by_role(environment))
    ClusterObjects(
        environment,
        plan(environment),
        node_controller_role=_output(stack, "node_controller_role", needed=by_role),
        autoscaler_role=_output(stack, "autoscaler_role", needed=by_role and environment.autoscaler is not None),
        prices=prices_of(environment, folder),
        kubernetes_ca=_output(stack, "kubernetes_ca", needed=has_queues(environment)),
    )


class ClusterObjects(ComponentResource):
    """Objects on an environment's cluster."""

    def __init__(
        self,
        environment: Environment,
        addresses: AddressPlan,
        *,
        node_controller_role: Output[str | None],
        autoscaler_role: Output[str | None] | None = None,
        prices: Mapping[str, Any] | None = None,
        kubernetes_ca: Output[str],
    ) -> None:
        """``node_controller_role`` and ``autoscaler_role``: ARNs of the AWS roles of the two programs; None without
        AWS. ``prices``: entries of the price file for the pools' machines. ``kubernetes_ca``: authority of API servers,
        PEM."""
        super().__init__("longhaul:ClusterObjects", f"{environment.name}-objects")
        name = environment.name
        provider = Provider(
            f"{name}-cluster",
            # Empty, not absent: the caller has the cluster's kubeconfig in KUBECONFIG, and the state must not have it.
            kubeconfig="",
            # Objects belong to the environment, whatever the path and address by which the cluster is reached.
            cluster_identifier=name,
            # After a killed run, the next one adopts the objects that it made. Changes by others are reverted.
            upsert_existing_objects=True,
            enable_patch_force=True,
            enable_config_map_mutable=True,
            enable_secret_mutable=True,
            opts=ResourceOptions(parent=self),
        )
        child = ResourceOptions(parent=self, providers=[provider])
        NodeAccess(f"{name}-access", opts=child)
        queues = QueuesArgs(authority=kubernetes_ca)
        made: list[Resource] = [Queues(f"{name}-queues", queues, opts=child)] if has_queues(environment) else []
        if has_queues(environment):
            AccountantAccess(f"{name}-accountant", opts=_after(child, made))
        if environment.teams:
            made.append(Teams(f"{name}-teams", environment, opts=_after(child, made)))
        # Groups may have rights in the namespaces of teams.
        GroupBindings(f"{name}-groups", environment, opts=_after(child, made))
        Capacity(f"{name}-capacity", environment, opts=child)
        EnvironmentDocument(
            f"{name}-environment",
            EnvironmentDocumentArgs(environment=environment, addresses=addresses, aws_role_arn=node_controller_role),
            opts=child,
        )
        if environment.autoscaler is not None:
            AutoscalerAccess(
                f"{name}-autoscaler",
                AutoscalerArgs(
                    environment=environment,
                    aws_role_arn=autoscaler_role or Output.from_input(None),
                    prices=prices or {},
                ),
                opts=child,
            )
        Fairness(f"{name}-fairness", opts=child)
        priorities = PriorityClasses(f"{name}-priorities", opts=child)
        TrainingPods(f"{name}-training", opts=child)
        InstanceMetadata(f"{name}-metadata", opts=child)
        AccountTokens(f"{name}-account-tokens", opts=child)
        NetworkPolicyWarning(f"{name}-network-policies", opts=child)
        limits = NodePermissions(f"{name}-node-permissions", addresses, opts=child)
        NodeLabels(f"{name}-node-labels", opts=_after(child, [limits]))
        # The pods made below have the system's priorities, which need a quota.
        child = _after(child, [priorities])
        Dns(f"{name}-dns", DnsArgs(environment=environment, addresses=addresses), opts=child)
        if has_gpus(environment):
            Gpus(f"{name}-gpus", opts=child)
        for kind in rdma_kinds(environment):
            if kind in SHARED:
                SharedRdma(f"{name}-rdma-{kind}", environment, kind, opts=child)
            elif environment.images.efa_device_plugin is not None:
                EfaDevicePlugin(f"{name}-efa", environment, environment.images.efa_device_plugin, opts=child)
        self.register_outputs({})


def _after(opts: ResourceOptions, before: Sequence[Resource]) -> ResourceOptions:
    """Return options of resources that are made after other resources."""
    return ResourceOptions.merge(opts, ResourceOptions(depends_on=[*before]))


def _output(stack: StackReference, name: str, *, needed: bool) -> Output[Any]:
    """Return an output of the first stack; raise ``ValueError`` when it is needed and missing, except in a preview."""

    def check(value: Any) -> Any:
        if value is not None or not needed:
            return value
        if pulumi.runtime.is_dry_run():
            return pulumi.output.UNKNOWN
        raise ValueError(
            f"the infrastructure's stack has no output {name}: bring it up first (`longhaul up --only infrastructure`)"
        )

    return stack.get_output(name).apply(check)
