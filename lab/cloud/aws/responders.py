"""Extends moto's request handlers where moto does not read all of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult, BaseResponse, EmptyResult
from moto.ec2.responses import EC2Response
from moto.iam.responses import IamResponse
from moto.sts.responses import TokenResponse

from lab.cloud.aws.account import AwsAccount
from lab.cloud.aws.launching import check_user_data
from lab.cloud.aws.rules import check_description, check_permissions
from lab.cloud.aws.web_identity import SessionGrant, grant
from lab.desired import TunnelState


@dataclass(frozen=True, kw_only=True)
class ResponderContext:
    """Callbacks that handlers need besides moto's state."""

    account: AwsAccount
    claims: Callable[[str], Mapping[str, Any]]
    """Returns the claims of a token that Azure's identity service signed; raises TokenError."""
    tunnels: Callable[[str], Mapping[str, TunnelState]]
    """Returns the hypervisor's view of a gateway's tunnels, by tunnel name."""


class Ec2Responder(EC2Response):
    """EC2."""

    def __init__(self, context: ResponderContext) -> None:
        super().__init__()
        self._context = context

    def create_customer_gateway(self) -> ActionResult:
        """Return the existing gateway for an identical request, and keep the device name; moto does neither."""
        same = self.ec2_backend.same_customer_gateway(dict(self.params))
        if same is not None:
            return ActionResult({"CustomerGateway": same})
        result = super().create_customer_gateway()
        made: Any = result.result
        made["CustomerGateway"].device_name = self._get_param("DeviceName")
        return result

    def create_vpn_connection(self) -> ActionResult:
        result = super().create_vpn_connection()
        made: Any = result.result
        try:
            self.ec2_backend.open_tunnels(made["VpnConnection"], self._get_param("Options", {}))
        except Exception:
            del self.ec2_backend.vpn_connections[made["VpnConnection"].id]
            raise
        return result

    def modify_vpn_tunnel_options(self) -> ActionResult:
        """Give one tunnel another key; moto has no such action."""
        connection = self.ec2_backend.change_tunnel(
            self._get_param("VpnConnectionId"),
            self._get_param("VpnTunnelOutsideIpAddress"),
            self._get_param("TunnelOptions", {}),
        )
        return ActionResult({"VpnConnection": connection})

    def describe_vpn_connections(self) -> ActionResult:
        for connection in self.ec2_backend.alive():
            connection.tell(self._context.tunnels(connection.vpn_gateway_id))
        return super().describe_vpn_connections()

    def create_vpn_connection_route(self) -> ActionResult:
        self.ec2_backend.add_route(self._get_param("VpnConnectionId"), self._get_param("DestinationCidrBlock"))
        return EmptyResult()

    def delete_vpn_connection_route(self) -> ActionResult:
        self.ec2_backend.remove_route(self._get_param("VpnConnectionId"), self._get_param("DestinationCidrBlock"))
        return EmptyResult()

    def create_nat_gateway(self) -> ActionResult:
        """Give the gateway its secondary addresses; moto passes over them."""
        result = super().create_nat_gateway()
        more = self._get_param("SecondaryAllocationIds", [])
        made: Any = result.result
        try:
            if more:
                self.ec2_backend.associate_nat_gateway_address(made["NatGateway"].id, more)
        except Exception:
            self.ec2_backend.delete_nat_gateway(made["NatGateway"].id)
            del self.ec2_backend.nat_gateways[made["NatGateway"].id]
            raise
        return result

    def associate_nat_gateway_address(self) -> ActionResult:
        gateway = self.ec2_backend.associate_nat_gateway_address(
            self._get_param("NatGatewayId"), self._get_param("AllocationIds", [])
        )
        return ActionResult({"NatGatewayId": gateway.id, "NatGatewayAddresses": gateway.address_set})

    def disassociate_nat_gateway_address(self) -> ActionResult:
        gateway = self.ec2_backend.disassociate_nat_gateway_address(
            self._get_param("NatGatewayId"), self._get_param("AssociationIds", [])
        )
        return ActionResult({"NatGatewayId": gateway.id, "NatGatewayAddresses": gateway.address_set})

    def create_subnet_cidr_reservation(self) -> ActionResult:
        """Keep the description, which moto loses."""
        result = super().create_subnet_cidr_reservation()
        made: Any = result.result
        made["SubnetCidrReservation"].description = self._get_param("Description")
        return result

    def create_security_group(self) -> ActionResult:
        check_description(str(self._get_param("Description") or ""), of="security group")
        return super().create_security_group()

    def authorize_security_group_ingress(self) -> ActionResult:
        check_permissions(self._get_param("IpPermissions", []))
        return super().authorize_security_group_ingress()

    def authorize_security_group_egress(self) -> ActionResult:
        check_permissions(self._get_param("IpPermissions", []))
        return super().authorize_security_group_egress()

    def modify_security_group_rules(self) -> ActionResult:
        check_permissions([rule["SecurityGroupRule"] for rule in self._get_param("SecurityGroupRules", [])])
        return super().modify_security_group_rules()

    def create_launch_template(self) -> ActionResult:
        self._check_template()
        return super().create_launch_template()

    def create_launch_template_version(self) -> ActionResult:
        """Encode the user data of a later version; moto keeps it as text, and cannot launch from it."""
        self._check_template()
        result = super().create_launch_template_version()
        backend, name = self.ec2_backend, self._get_param("LaunchTemplateName")
        known = backend.get_launch_template_by_name(name) if name else None
        template = known or backend.get_launch_template(self._get_param("LaunchTemplateId"))
        data = template.latest_version().data
        data["UserData"] = _encoded(data.get("UserData"))
        return result

    def _check_template(self) -> None:
        user_data = self._get_param("LaunchTemplateData.UserData")
        if user_data is not None:
            check_user_data(str(user_data))


class ScalingResponder(AutoScalingResponse):
    """Auto scaling."""

    def __init__(self, context: ResponderContext) -> None:
        super().__init__()
        self._context = context

    def describe_scaling_activities(self) -> ActionResult:
        backend: Any = self.autoscaling_backend
        name, ids = self._get_param("AutoScalingGroupName"), self._get_param("ActivityIds", [])
        groups = [backend.group(name)] if name else list(backend.groups())
        matches = [
            activity for group in groups for activity in group.activities if not ids or activity["ActivityId"] in ids
        ]
        return ActionResult({"Activities": matches[: self._get_int_param("MaxRecords", 100)]})

    def update_auto_scaling_group(self) -> ActionResult:
        result = super().update_auto_scaling_group()
        backend: Any = self.autoscaling_backend
        rebalance = self._get_bool_param("CapacityRebalance", None)
        if rebalance is not None:
            backend.group(self._get_param("AutoScalingGroupName")).capacity_rebalance = rebalance
        return result

    def terminate_instance_in_auto_scaling_group(self) -> ActionResult:
        ids = self._get_param("InstanceIds", [])
        if ids and self._get_param("InstanceId"):
            raise ValidationError("The lab takes InstanceId or InstanceIds")
        if not ids:
            return super().terminate_instance_in_auto_scaling_group()
        backend: Any = self.autoscaling_backend
        smaller = self._get_bool_param("ShouldDecrementDesiredCapacity", False)
        ended = backend.terminate_instances(self._get_param("AutoScalingGroupName"), ids, smaller=smaller)
        return ActionResult({"Activities": ended})

    def delete_auto_scaling_group(self) -> ActionResult:
        backend: Any = self.autoscaling_backend
        force = self._get_bool_param("ForceDelete", False)
        backend.delete_auto_scaling_group(self._get_param("AutoScalingGroupName"), force=bool(force))
        return EmptyResult()


class IamResponder(IamResponse):
    """Identity and access management."""

    def __init__(self, context: ResponderContext) -> None:
        super().__init__()
        self._context = context

    def add_client_id_to_open_id_connect_provider(self) -> ActionResult:
        provider = self.backend.get_open_id_connect_provider(self._get_param("OpenIDConnectProviderArn"))
        client = self._get_param("ClientID")
        provider.client_id_list = [*(client_id for client_id in provider.client_id_list if client_id != client), client]
        return EmptyResult()

    def remove_client_id_from_open_id_connect_provider(self) -> ActionResult:
        provider = self.backend.get_open_id_connect_provider(self._get_param("OpenIDConnectProviderArn"))
        client = self._get_param("ClientID")
        provider.client_id_list = [client_id for client_id in provider.client_id_list if client_id != client]
        return EmptyResult()


class StsResponder(TokenResponse):
    """Temporary credentials."""

    def __init__(self, context: ResponderContext) -> None:
        super().__init__()
        self._context = context

    def assume_role_with_web_identity(self) -> ActionResult:
        """Check the token before the role is assumed; moto accepts any token."""
        allowed: SessionGrant = grant(
            self._context.account.iam,
            role_arn=self._get_param("RoleArn"),
            session=self._get_param("RoleSessionName"),
            duration=self._get_int_param("DurationSeconds", 3600),
            token=self._get_param("WebIdentityToken"),
            claims=self._context.claims,
        )
        role = self.backend.assume_role(
            region_name=self.region,
            role_session_name=allowed.session,
            role_arn=allowed.role_arn,
            policy="",
            duration=allowed.duration,
            external_id="",
        )
        return ActionResult(
            {
                "Credentials": role,
                "AssumedRoleUser": {"AssumedRoleId": role.user_id, "Arn": role.arn},
                "SubjectFromWebIdentityToken": allowed.subject,
                "Audience": allowed.audience,
                "Provider": allowed.provider,
            }
        )


def responder(service: str, context: ResponderContext) -> BaseResponse:
    """Return a handler for one request to a service."""
    kinds: dict[str, Callable[[ResponderContext], BaseResponse]] = {
        "ec2": Ec2Responder,
        "autoscaling": ScalingResponder,
        "iam": IamResponder,
        "sts": StsResponder,
    }
    return kinds[service](context)


def _encoded(user_data: Any) -> Any:
    from moto.core.types import Base64EncodedString

    known = user_data is None or isinstance(user_data, Base64EncodedString)
    return user_data if known else Base64EncodedString(str(user_data))
