"""Resources of an environment on AWS."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi import ResourceOptions

from clouds.base.tags import environment_tags
from components.aws.account import account_provider, aws_site
from components.aws.autoscaler_access import AutoscalerRole
from components.aws.links import AwsEnd, AwsLinked
from components.aws.node_controller_access import NodeControllerAccess, NodeControllerAccessArgs
from components.aws.web_identity import RoleArgs
from components.aws.worker_site import AwsWorkerSite, AwsWorkerSiteArgs
from components.environment.cloud_resources import CloudResources, UserDataMaker
from components.environment.links import EndContext
from components.model import AddressPlan, Environment


class AwsResources(CloudResources):
    """Resources of the environment's sites on AWS."""

    def __init__(self, environment: Environment, addresses: AddressPlan, *, parent: pulumi.Resource) -> None:
        super().__init__(environment, addresses, parent=parent)
        provider = account_provider(environment, ResourceOptions(parent=parent))
        self.providers = [provider] if provider else []
        self._child = ResourceOptions(parent=parent, providers=self.providers)
        self._sites: dict[str, AwsWorkerSite] = {}
        self._access: NodeControllerAccess | None = None

    def make_site(self, name: str) -> None:
        """Make a site's network and the identity of the site's nodes."""
        self._sites[name] = AwsWorkerSite(
            f"{self._environment.name}-{name}",
            AwsWorkerSiteArgs(environment=self._environment, addresses=self._addresses, site_name=name),
            opts=self._child,
        )

    def make_pools(self, site: str, user_data: UserDataMaker) -> None:
        """Make a site's pools."""
        self._sites[site].make_pools(user_data)

    def admit_controller(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the node controller list instances. Return the stack's output with the ARN of the role that the node
        controller assumes."""
        access = self._access = NodeControllerAccess(
            f"{self._environment.name}-node-controller",
            NodeControllerAccessArgs(
                environment=self._environment, principal_ids=principal_ids, tags=environment_tags(self._environment)
            ),
            opts=self._child,
        )
        return {"node_controller_role": access.role_arn}

    def admit_autoscaler(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the autoscaler size the auto scaling groups. Return the stack's output with the ARN of the role that the
        autoscaler assumes. Raise ``RuntimeError`` if the node controller was not admitted first."""
        if self._access is None:
            raise RuntimeError("the node controller is admitted first: its identity provider is used")
        role = AutoscalerRole(
            f"{self._environment.name}-autoscaler",
            RoleArgs(
                environment=self._environment,
                principal_ids=principal_ids,
                provider_arn=self._access.provider_arn,
                tags=environment_tags(self._environment),
            ),
            opts=self._child,
        )
        return {"autoscaler_role": role.role_arn}

    def link_end(self, place: EndContext) -> AwsEnd:
        """Return the AWS end of a site's links."""
        network = self._sites[place.site].network
        linked = AwsLinked(
            region=aws_site(self._environment, place.site).region,
            vpc_id=network.vpc_id,
            route_table_ids=network.route_table_ids,
        )
        return AwsEnd(linked, place)
