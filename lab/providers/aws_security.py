"""Security groups and their rules."""

from __future__ import annotations

from typing import Any, Literal

from lab.providers.aws_calls import (
    AwsResourceType,
    Call,
    Described,
    absent_is_none,
    arn,
    deletes,
    given,
    gone_is_fine,
    specification,
)

Direction = Literal["ingress", "egress"]
PEERS = ("cidrIpv4", "referencedSecurityGroupId")


GROUPS = Described(
    operation="describe_security_groups",
    answer="SecurityGroups",
    key="GroupId",
    narrow=lambda call: {
        "Filters": [
            {"Name": "group-name", "Values": [call.inputs["name"]]},
            {"Name": "vpc-id", "Values": [call.inputs["vpcId"]]},
        ]
    },
)
RULES = Described(operation="describe_security_group_rules", answer="SecurityGroupRules", key="SecurityGroupRuleId")


def security_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:ec2/securityGroup:SecurityGroup",
            inputs="name description vpcId",
            forced="name description vpcId",
            create=_create_group,
            look=GROUPS.find,
            outputs=_group_outputs,
            delete=deletes("delete_security_group", "GroupId", busy=("DependencyViolation", "InvalidGroup.InUse")),
            find=_find_group,
            tagged=True,
        ),
        _rule_kind("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "ingress"),
        _rule_kind("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "egress"),
    )


def _rule_kind(type: str, direction: Direction) -> AwsResourceType:
    """Return the type of a rule. A rule that a killed creation left is found without comparing descriptions."""
    return AwsResourceType(
        type=type,
        inputs=f"securityGroupId ipProtocol fromPort toPort description {' '.join(PEERS)}",
        forced="securityGroupId",
        create=lambda call: _create_rule(call, direction),
        look=RULES.find,
        outputs=_rule_outputs,
        update=_change_rule,
        delete=lambda call: _delete_rule(call, direction),
        find=lambda call: _find_rule(call, direction),
        tagged=True,
    )


def _create_group(call: Call) -> str:
    """Create a group, and remove the rule that allows all egress as the real plugin does. EC2 gives this rule to each
    new group."""
    inputs = call.inputs
    made = call.ec2.create_security_group(
        GroupName=inputs["name"],
        Description=inputs.get("description") or "Managed by Pulumi",
        VpcId=inputs["vpcId"],
        TagSpecifications=specification("security-group", call),
    )
    call.id = made["GroupId"]
    _close(call)
    return call.id


def _close(call: Call) -> None:
    for item in _rules(call, call.id, "egress"):
        if item.get("IpProtocol") == "-1" and item.get("CidrIpv4") == "0.0.0.0/0" and not item.get("Description"):
            ids = [item["SecurityGroupRuleId"]]
            call.ec2.revoke_security_group_egress(GroupId=call.id, SecurityGroupRuleIds=ids)


def _find_group(call: Call) -> list[str]:
    groups = GROUPS.left(call)
    for group in groups:
        call.id = group
        _close(call)
    return groups


def _group_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {
        "arn": arn(call, "security-group", described["OwnerId"], call.id),
        "name": described["GroupName"],
        "description": described["Description"],
        "vpcId": described["VpcId"],
        "ownerId": described["OwnerId"],
    }


def _rules(call: Call, group: str, direction: Direction) -> list[dict[str, Any]]:
    where = [{"Name": "group-id", "Values": [group]}]
    rules = absent_is_none(lambda: call.ec2.describe_security_group_rules(Filters=where)["SecurityGroupRules"])
    return [item for item in rules or [] if bool(item.get("IsEgress")) is (direction == "egress")]


def _create_rule(call: Call, direction: Direction) -> str:
    inputs = call.inputs
    note = given(call, Description="description")
    permission: dict[str, Any] = {"IpProtocol": inputs["ipProtocol"]}
    if inputs["ipProtocol"] != "-1":
        permission |= {"FromPort": inputs["fromPort"], "ToPort": inputs["toPort"]}
    if inputs.get("cidrIpv4"):
        permission["IpRanges"] = [{"CidrIp": inputs["cidrIpv4"], **note}]
    else:
        permission["UserIdGroupPairs"] = [{"GroupId": inputs["referencedSecurityGroupId"], **note}]
    action = getattr(call.ec2, f"authorize_security_group_{direction}")
    made = action(
        GroupId=inputs["securityGroupId"],
        IpPermissions=[permission],
        TagSpecifications=specification("security-group-rule", call),
    )
    return str(made["SecurityGroupRules"][0]["SecurityGroupRuleId"])


def _find_rule(call: Call, direction: Direction) -> list[str]:
    wanted = {name: call.inputs.get(name) for name in ("ipProtocol", "fromPort", "toPort", *PEERS)}
    return [
        item["SecurityGroupRuleId"]
        for item in _rules(call, call.inputs["securityGroupId"], direction)
        if {name: _rule_outputs(call, item).get(name) for name in wanted} == wanted
    ]


def _rule_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    outputs = {
        "arn": arn(call, "security-group-rule", described.get("GroupOwnerId", ""), described["SecurityGroupRuleId"]),
        "securityGroupRuleId": described["SecurityGroupRuleId"],
        "securityGroupId": described["GroupId"],
        "ipProtocol": described["IpProtocol"],
    }
    optional = {
        "cidrIpv4": described.get("CidrIpv4"),
        "referencedSecurityGroupId": (described.get("ReferencedGroupInfo") or {}).get("GroupId"),
        "description": described.get("Description"),
    }
    for name, key in (("fromPort", "FromPort"), ("toPort", "ToPort")):
        if described["IpProtocol"] != "-1":
            optional[name] = described.get(key)
    return outputs | {name: value for name, value in optional.items() if value not in (None, "")}


def _change_rule(call: Call) -> None:
    inputs = call.inputs
    if not call.changed("ipProtocol", "fromPort", "toPort", "description", *PEERS):
        return
    request = {"IpProtocol": inputs["ipProtocol"], "Description": inputs.get("description", "")}
    names = {
        "fromPort": "FromPort",
        "toPort": "ToPort",
        "cidrIpv4": "CidrIpv4",
        "referencedSecurityGroupId": "ReferencedGroupId",
    }
    request |= {key: inputs[name] for name, key in names.items() if inputs.get(name) is not None}
    call.ec2.modify_security_group_rules(
        GroupId=inputs["securityGroupId"],
        SecurityGroupRules=[{"SecurityGroupRuleId": call.id, "SecurityGroupRule": request}],
    )


def _delete_rule(call: Call, direction: Direction) -> None:
    action = getattr(call.ec2, f"revoke_security_group_{direction}")
    gone_is_fine(lambda: action(GroupId=call.old["securityGroupId"], SecurityGroupRuleIds=[call.id]))
