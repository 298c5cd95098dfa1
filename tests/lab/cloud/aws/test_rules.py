"""Security groups and rules that EC2 refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.cloud.aws.site import Site
from tests.lab.cloud.aws.test_dependencies import refused

ADMITTED = "aZ09. _-:/()#,@[]+=&;{}!$*"
"""Characters that are allowed, one of each kind."""
REFUSED = ("the lab's", 'the "lab"', "a -> b", "größe", "a\nb", "%", "a" * 256)


def permission(description: str, *, group: str = "") -> dict[str, Any]:
    peer = {"GroupId": group} if group else {"CidrIp": "10.0.0.0/8"}
    kind = "UserIdGroupPairs" if group else "IpRanges"
    return {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, kind: [{**peer, "Description": description}]}


@pytest.mark.parametrize("text", REFUSED)
def test_a_description_has_few_characters(site: Site, text: str) -> None:
    ec2, group = site.ec2, {"GroupId": site.group}
    for peer in ("", site.group):
        for authorize in (ec2.authorize_security_group_ingress, ec2.authorize_security_group_egress):
            refused("InvalidParameterValue", authorize, **group, IpPermissions=[permission(text, group=peer)])
    refused("InvalidParameterValue", ec2.create_security_group, GroupName="x", Description=text, VpcId=site.vpc)
    (rule,) = ec2.authorize_security_group_ingress(**group, IpPermissions=[permission("fine")])["SecurityGroupRules"]
    change = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIpv4": "10.0.0.0/8", "Description": text}
    changes = [{"SecurityGroupRuleId": rule["SecurityGroupRuleId"], "SecurityGroupRule": change}]
    refused("InvalidParameterValue", ec2.modify_security_group_rules, **group, SecurityGroupRules=changes)


@pytest.mark.parametrize("text", [ADMITTED, "a" * 255])
def test_those_are_admitted(site: Site, text: str) -> None:
    allowed = site.ec2.authorize_security_group_ingress(GroupId=site.group, IpPermissions=[permission(text)])
    assert [rule["Description"] for rule in allowed["SecurityGroupRules"]] == [text]
    site.ec2.create_security_group(GroupName="x", Description=text, VpcId=site.vpc)
