"""Launch templates."""

from __future__ import annotations

from typing import Any

from lab.providers.aws_calls import (
    AwsRefusedError,
    AwsResourceType,
    Call,
    Described,
    absent_is_none,
    arn,
    deletes,
    given,
    specification,
    tag_list,
)

_TEMPLATE_DATA = (
    "imageId instanceType iamInstanceProfile metadataOptions networkInterfaces blockDeviceMappings ebsOptimized "
    "instanceInitiatedShutdownBehavior instanceMarketOptions tagSpecifications userData"
)


TEMPLATES = Described(operation="describe_launch_templates", answer="LaunchTemplates", key="LaunchTemplateId")


def template_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:ec2/launchTemplate:LaunchTemplate",
            inputs=f"name description updateDefaultVersion {_TEMPLATE_DATA}",
            forced="name",
            create=_create_template,
            look=TEMPLATES.find,
            outputs=_template_outputs,
            update=_update_template,
            delete=deletes("delete_launch_template", "LaunchTemplateId"),
            find=_find_template,
            volatile="latestVersion defaultVersion",
            tagged=True,
        ),
    )


def template_data(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return a template's data in the API's form."""
    names = {
        "imageId": "ImageId",
        "instanceType": "InstanceType",
        "instanceInitiatedShutdownBehavior": "InstanceInitiatedShutdownBehavior",
        "userData": "UserData",
    }
    data: dict[str, Any] = {key: inputs[name] for name, key in names.items() if inputs.get(name)}
    if inputs.get("ebsOptimized") is not None:
        data["EbsOptimized"] = flag(inputs["ebsOptimized"])
    for name in ("iamInstanceProfile", "metadataOptions"):
        if inputs.get(name):
            data[_upper(name)] = {_upper(key): value for key, value in inputs[name].items()}
    if inputs.get("instanceMarketOptions"):
        data["InstanceMarketOptions"] = _market(inputs["instanceMarketOptions"])
    data["NetworkInterfaces"] = [_interface(item) for item in inputs.get("networkInterfaces", [])]
    data["BlockDeviceMappings"] = [_disk(item) for item in inputs.get("blockDeviceMappings", [])]
    data["TagSpecifications"] = [
        {"ResourceType": item["resourceType"], "Tags": tag_list(item.get("tags", {}))}
        for item in inputs.get("tagSpecifications", [])
    ]
    return {key: value for key, value in data.items() if value not in ([], {})}


def _market(given: dict[str, Any]) -> dict[str, Any]:
    options = {_upper(key): value for key, value in given.get("spotOptions", {}).items()}
    return {"MarketType": given["marketType"], **({"SpotOptions": options} if options else {})}


def _interface(given: dict[str, Any]) -> dict[str, Any]:
    names = {"deviceIndex": "DeviceIndex", "ipv4PrefixCount": "Ipv4PrefixCount", "securityGroups": "Groups"}
    flags = {"associatePublicIpAddress": "AssociatePublicIpAddress", "deleteOnTermination": "DeleteOnTermination"}
    unknown = given.keys() - names.keys() - flags.keys()
    if unknown:
        raise AwsRefusedError(f"the lab's AWS does not know {', '.join(sorted(unknown))} of a network interface")
    interface = {key: given[name] for name, key in names.items() if given.get(name) is not None}
    return interface | {key: flag(given[name]) for name, key in flags.items() if given.get(name) is not None}


def _disk(given: dict[str, Any]) -> dict[str, Any]:
    ebs = {_upper(key): value for key, value in given.get("ebs", {}).items()}
    for name in ("Encrypted", "DeleteOnTermination"):
        if name in ebs:
            ebs[name] = flag(ebs[name])
    return {"DeviceName": given["deviceName"], "Ebs": ebs}


def _upper(name: str) -> str:
    return name[0].upper() + name[1:]


def flag(value: Any) -> bool:
    """Return a flag as a bool; some flags of the SDK are texts, so that they can be left out."""
    return value if isinstance(value, bool) else str(value).lower() == "true"


def _create_template(call: Call) -> str:
    made = call.ec2.create_launch_template(
        LaunchTemplateName=call.inputs["name"],
        LaunchTemplateData=template_data(call.inputs),
        ClientToken=call.token,
        TagSpecifications=specification("launch-template", call),
        **given(call, VersionDescription="description"),
    )
    return str(made["LaunchTemplate"]["LaunchTemplateId"])


def _update_template(call: Call) -> None:
    """Make a new version, unless only tags changed."""
    number = None
    if call.changed("description", *_TEMPLATE_DATA.split()):
        made = call.ec2.create_launch_template_version(
            LaunchTemplateId=call.id,
            LaunchTemplateData=template_data(call.inputs),
            ClientToken=call.token,
            **given(call, VersionDescription="description"),
        )
        number = made["LaunchTemplateVersion"]["VersionNumber"]
    if number is not None and call.inputs.get("updateDefaultVersion"):
        call.ec2.modify_launch_template(LaunchTemplateId=call.id, DefaultVersion=str(number))


def _template_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    latest = str(described["LatestVersionNumber"])
    version = call.ec2.describe_launch_template_versions(LaunchTemplateId=call.id, Versions=[latest])
    data = version["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    names = {"imageId": "ImageId", "instanceType": "InstanceType", "userData": "UserData"}
    return {
        "arn": arn(call, "launch-template", "", call.id),
        "name": described["LaunchTemplateName"],
        "latestVersion": described["LatestVersionNumber"],
        "defaultVersion": described["DefaultVersionNumber"],
        **{name: data[key] for name, key in names.items() if data.get(key)},
    }


def _find_template(call: Call) -> list[str]:
    name = call.inputs["name"]
    answer = absent_is_none(lambda: call.ec2.describe_launch_templates(LaunchTemplateNames=[name]))
    return [item["LaunchTemplateId"] for item in (answer or {}).get("LaunchTemplates", [])]
