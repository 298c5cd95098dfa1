"""Roles, instance profiles and identity providers."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from lab.providers.aws_calls import AwsResourceType, Call, absent_is_none, given, gone_is_fine, tag_list, tag_outputs

CONFLICT = ("DeleteConflict",)


def iam_kinds() -> tuple[AwsResourceType, ...]:
    """Return the resource types of this table."""
    return (
        AwsResourceType(
            type="aws:iam/role:Role",
            inputs="name path description assumeRolePolicy maxSessionDuration inlinePolicies tags",
            forced="name path",
            create=_create_role,
            look=lambda call: _role(call, call.id),
            outputs=_role_outputs,
            update=_update_role,
            delete=_delete_role,
            find=lambda call: [call.inputs["name"]] if _role(call, call.inputs["name"]) else [],
            global_=True,
        ),
        AwsResourceType(
            type="aws:iam/rolePolicy:RolePolicy",
            inputs="name role policy",
            forced="name role",
            create=_put_policy,
            look=_policy,
            outputs=_policy_outputs,
            update=lambda call: _ignored(_put_policy(call)),
            delete=_delete_policy,
            global_=True,
        ),
        AwsResourceType(
            type="aws:iam/instanceProfile:InstanceProfile",
            inputs="name path role tags",
            forced="name path",
            create=_create_profile,
            look=lambda call: _profile(call, call.id),
            outputs=_profile_outputs,
            update=_update_profile,
            delete=_delete_profile,
            find=lambda call: [call.inputs["name"]] if _profile(call, call.inputs["name"]) else [],
            global_=True,
        ),
        AwsResourceType(
            type="aws:iam/openIdConnectProvider:OpenIdConnectProvider",
            inputs="url clientIdLists thumbprintLists tags",
            forced="url",
            create=_create_provider,
            look=_provider,
            outputs=_provider_outputs,
            update=_update_provider,
            delete=lambda call: gone_is_fine(
                lambda: call.iam.delete_open_id_connect_provider(OpenIDConnectProviderArn=call.id)
            ),
            find=_find_provider,
            global_=True,
        ),
    )


def _ignored(_value: object) -> None:
    return None


def _policies(inputs: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["policy"] for item in inputs.get("inlinePolicies") or []}


def _create_role(call: Call) -> str:
    call.iam.create_role(
        RoleName=call.inputs["name"],
        AssumeRolePolicyDocument=call.inputs["assumeRolePolicy"],
        Tags=tag_list(call.tags),
        **given(call, Path="path", Description="description", MaxSessionDuration="maxSessionDuration"),
    )
    call.id = str(call.inputs["name"])
    for name, policy in _policies(call.inputs).items():
        call.iam.put_role_policy(RoleName=call.id, PolicyName=name, PolicyDocument=policy)
    return call.id


def _update_role(call: Call) -> None:
    if call.changed("assumeRolePolicy"):
        call.iam.update_assume_role_policy(RoleName=call.id, PolicyDocument=call.inputs["assumeRolePolicy"])
    if call.changed("description", "maxSessionDuration"):
        call.iam.update_role(
            RoleName=call.id, **given(call, Description="description", MaxSessionDuration="maxSessionDuration")
        )
    before, after = _policies(call.old), _policies(call.inputs)
    for name in before.keys() - after.keys():
        call.iam.delete_role_policy(RoleName=call.id, PolicyName=name)
    for name, policy in after.items():
        if before.get(name) != policy:
            call.iam.put_role_policy(RoleName=call.id, PolicyName=name, PolicyDocument=policy)
    _change_tags(call, "role", RoleName=call.id)


def _change_tags(call: Call, kind: str, **where: str) -> None:
    before = {str(key) for key in call.old.get("tags") or {}}
    if before - call.tags.keys():
        getattr(call.iam, f"untag_{kind}")(TagKeys=sorted(before - call.tags.keys()), **where)
    if call.tags and call.changed("tags"):
        getattr(call.iam, f"tag_{kind}")(Tags=tag_list(call.tags), **where)


def _role(call: Call, name: str) -> dict[str, Any] | None:
    return absent_is_none(lambda: dict(call.iam.get_role(RoleName=name)["Role"]))


def _role_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    known = call.old or call.inputs
    outputs = {
        "arn": described["Arn"],
        "name": described["RoleName"],
        "path": described["Path"],
        "uniqueId": described["RoleId"],
        "description": described.get("Description", ""),
        "maxSessionDuration": described.get("MaxSessionDuration", 3600),
        "assumeRolePolicy": _document(described["AssumeRolePolicyDocument"], known.get("assumeRolePolicy")),
        "createDate": described["CreateDate"].isoformat(),
        **tag_outputs(described),
    }
    if known.get("inlinePolicies"):
        wanted = _policies(known)
        outputs["inlinePolicies"] = [
            {"name": name, "policy": _document(_inline(call, call.id, name), wanted.get(name))}
            for name in call.iam.list_role_policies(RoleName=call.id)["PolicyNames"]
        ]
    return outputs


def _document(described: Any, known: Any) -> str:
    """Return the described policy as text. If it has the same content as the program's policy, return the program's
    text."""
    parsed = json.loads(described) if isinstance(described, str) else described
    if isinstance(known, str) and json.loads(known) == parsed:
        return known
    return json.dumps(parsed)


def _inline(call: Call, role: str, name: str) -> Any:
    return call.iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]


def _delete_role(call: Call) -> None:
    if _role(call, call.id) is None:
        return
    for item in call.iam.list_instance_profiles_for_role(RoleName=call.id)["InstanceProfiles"]:
        remove = partial(call.iam.remove_role_from_instance_profile, RoleName=call.id)
        gone_is_fine(partial(remove, InstanceProfileName=item["InstanceProfileName"]))
    for name in _policies(call.old):
        gone_is_fine(partial(call.iam.delete_role_policy, RoleName=call.id, PolicyName=name))
    call.retried(CONFLICT, lambda: gone_is_fine(lambda: call.iam.delete_role(RoleName=call.id)), f"deleting {call.id}")


def _put_policy(call: Call) -> str:
    role, name = call.inputs["role"], call.inputs["name"]
    call.iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=call.inputs["policy"])
    return f"{role}:{name}"


def _policy(call: Call) -> dict[str, Any] | None:
    role, _, name = call.id.partition(":")
    return absent_is_none(lambda: {"role": role, "name": name, "policy": _inline(call, role, name)})


def _policy_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    return {**described, "policy": _document(described["policy"], (call.old or call.inputs).get("policy"))}


def _delete_policy(call: Call) -> None:
    role, _, name = call.id.partition(":")
    gone_is_fine(lambda: call.iam.delete_role_policy(RoleName=role, PolicyName=name))


def _create_profile(call: Call) -> str:
    call.iam.create_instance_profile(
        InstanceProfileName=call.inputs["name"], Tags=tag_list(call.tags), **given(call, Path="path")
    )
    call.id = str(call.inputs["name"])
    _set_role(call)
    return call.id


def _set_role(call: Call) -> None:
    wanted = call.inputs.get("role")
    role_names = [item["RoleName"] for item in (_profile(call, call.id) or {}).get("Roles", [])]
    for role in role_names:
        if role != wanted:
            call.iam.remove_role_from_instance_profile(InstanceProfileName=call.id, RoleName=role)
    if wanted and wanted not in role_names:
        call.iam.add_role_to_instance_profile(InstanceProfileName=call.id, RoleName=wanted)


def _update_profile(call: Call) -> None:
    _set_role(call)
    _change_tags(call, "instance_profile", InstanceProfileName=call.id)


def _profile(call: Call, name: str) -> dict[str, Any] | None:
    return absent_is_none(lambda: dict(call.iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]))


def _profile_outputs(_call: Call, described: dict[str, Any]) -> dict[str, Any]:
    roles = [item["RoleName"] for item in described.get("Roles", [])]
    return {
        "arn": described["Arn"],
        "name": described["InstanceProfileName"],
        "path": described["Path"],
        "uniqueId": described["InstanceProfileId"],
        "role": roles[0] if roles else "",
        **tag_outputs(described),
    }


def _delete_profile(call: Call) -> None:
    described = _profile(call, call.id)
    for item in (described or {}).get("Roles", []):
        remove = partial(call.iam.remove_role_from_instance_profile, InstanceProfileName=call.id)
        gone_is_fine(partial(remove, RoleName=item["RoleName"]))
    gone_is_fine(lambda: call.iam.delete_instance_profile(InstanceProfileName=call.id))


def _create_provider(call: Call) -> str:
    made = call.iam.create_open_id_connect_provider(
        Url=call.inputs["url"],
        ClientIDList=call.inputs.get("clientIdLists", []),
        ThumbprintList=call.inputs.get("thumbprintLists", []),
        Tags=tag_list(call.tags),
    )
    return str(made["OpenIDConnectProviderArn"])


def _provider(call: Call) -> dict[str, Any] | None:
    return absent_is_none(lambda: dict(call.iam.get_open_id_connect_provider(OpenIDConnectProviderArn=call.id)))


def _provider_outputs(call: Call, described: dict[str, Any]) -> dict[str, Any]:
    known = call.old or call.inputs
    clients, prints = described.get("ClientIDList", []), described.get("ThumbprintList", [])
    asked = known.get("clientIdLists") or []
    return {
        "arn": call.id,
        "url": known.get("url") or f"https://{described['Url']}",
        "clientIdLists": asked if sorted(asked) == sorted(clients) else sorted(clients),
        "thumbprintLists": prints,
        **tag_outputs(described),
    }


def _update_provider(call: Call) -> None:
    where = {"OpenIDConnectProviderArn": call.id}
    before = set((_provider(call) or {}).get("ClientIDList", []))
    after = set(call.inputs.get("clientIdLists", []))
    for client in sorted(after - before):
        call.iam.add_client_id_to_open_id_connect_provider(ClientID=client, **where)
    for client in sorted(before - after):
        call.iam.remove_client_id_from_open_id_connect_provider(ClientID=client, **where)
    if call.inputs.get("thumbprintLists") and call.changed("thumbprintLists"):
        call.iam.update_open_id_connect_provider_thumbprint(ThumbprintList=call.inputs["thumbprintLists"], **where)
    _change_tags(call, "open_id_connect_provider", **where)


def _find_provider(call: Call) -> list[str]:
    tail = f":oidc-provider/{call.inputs['url'].removeprefix('https://')}"
    providers = call.iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]
    return [item["Arn"] for item in providers if item["Arn"].endswith(tail)]
