"""Tokens and the rights that they give, with Azure's own library."""

from __future__ import annotations

import uuid
from pathlib import Path

import jwt
import pytest
import requests
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import ClientSecretCredential, EnvironmentCredential

from clouds.azure.roles import AUTOSCALER, READER, SECRETS_USER
from lab.cloud.azure.access import operator_condition
from lab.cloud.azure.roles import OWNER
from tests.lab.cloud import estate, sets
from tests.lab.cloud.conftest import GROUP, SUBSCRIPTION, Live


def test_the_unchanged_library_obtains_a_token(built: Live) -> None:
    token = EnvironmentCredential().get_token("https://management.azure.com/.default").token
    claims = jwt.decode(token, options={"verify_signature": False})
    environment = built.cloud.operator_environment()
    assert claims["aud"] == "https://management.azure.com"
    assert claims["appid"] == environment["AZURE_CLIENT_ID"]
    assert claims["oid"] == environment["LAB_OPERATOR_OBJECT_ID"]
    assert built.arm("GET", GROUP, token=token).status_code == 200


def test_tokens_verify_with_the_published_keys(built: Live) -> None:
    tenant = built.cloud.operator_environment()["AZURE_TENANT_ID"]
    base, verify = f"https://login.microsoftonline.com/{tenant}", str(built.cloud.ca_certificate)
    metadata = requests.get(f"{base}/v2.0/.well-known/openid-configuration", timeout=10, verify=verify).json()
    keys = requests.get(metadata["jwks_uri"], timeout=10, verify=verify).json()
    token = built.token("https://management.azure.com")
    key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(token)["kid"]]
    assert jwt.decode(token, key, audience="https://management.azure.com", algorithms=["RS256"])["tid"] == tenant


@pytest.mark.parametrize(
    ("client", "key", "code"),
    [("", "wrong", "AADSTS7000215"), ("00000000-0000-4000-8000-00000000000f", "", "AADSTS700016")],
)
def test_wrong_credentials_are_refused(built: Live, client: str, key: str, code: str) -> None:
    environment = built.cloud.operator_environment()
    credential = ClientSecretCredential(
        environment["AZURE_TENANT_ID"],
        client or environment["AZURE_CLIENT_ID"],
        key or environment["AZURE_CLIENT_SECRET"],
    )
    with pytest.raises(ClientAuthenticationError, match=code):
        credential.get_token("https://management.azure.com/.default")


def test_an_expired_or_foreign_token_is_refused(built: Live) -> None:
    identity = built.cloud._identity
    expired = identity.token(object_id="o", app_id="a", audience="https://management.azure.com", life_s=-10)
    assert built.arm("GET", GROUP, token=expired).status_code == 401
    forged = jwt.encode(
        {"aud": "https://management.azure.com", "oid": "o", "appid": "a", "tid": "t"}, "k" * 32, algorithm="HS256"
    )
    assert built.arm("GET", GROUP, token=forged).status_code == 401


def test_roles_decide_what_a_principal_may_do(live: Live) -> None:
    estate.build(live)
    principal = live.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
    token = live.cloud._identity.token(object_id=principal, app_id="a", audience="https://management.azure.com")
    refused = live.arm("GET", estate.NIC, token=token)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "AuthorizationFailed")
    assign(live, scope=GROUP, role=READER, principal=principal)
    assert live.arm("GET", estate.NIC, token=token).status_code == 200
    assert live.arm("DELETE", estate.NIC, token=token).status_code == 403
    assert live.arm("POST", f"{estate.VM}/restart", token=token).status_code == 403


def test_a_list_needs_the_right_to_read_what_it_lists(live: Live) -> None:
    """As the autoscaler's role has it of scale sets and their machines, and of nothing else."""
    estate.build(live)
    sets.build(live)
    principal = live.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
    token = live.cloud._identity.token(object_id=principal, app_id="a", audience="https://management.azure.com")
    assign(live, scope=GROUP, role=AUTOSCALER, principal=principal)
    listed = {
        "Microsoft.Compute/virtualMachineScaleSets": 200,
        f"Microsoft.Compute/virtualMachineScaleSets/{sets.SET.rpartition('/')[2]}/virtualMachines": 200,
        "Microsoft.Compute/virtualMachines": 403,
        "Microsoft.Network/networkInterfaces": 403,
    }
    found = {what: live.arm("GET", f"{GROUP}/providers/{what}", token=token).status_code for what in listed}
    assert found == listed
    assert live.arm("GET", f"{GROUP}/resources", token=token).status_code == 403


def test_role_assignments(live: Live) -> None:
    estate.build(live)
    principal = live.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
    name = assign(live, scope=GROUP, role=READER, principal=principal)
    path = f"{GROUP}/providers/Microsoft.Authorization/roleAssignments"
    again = live.arm("PUT", f"{path}/{uuid.uuid4()}", body(READER, principal))
    assert again.json()["error"]["code"] == "RoleAssignmentExists"
    other = live.arm("PUT", f"{path}/{name}", body(SECRETS_USER, principal))
    assert (other.status_code, other.json()["error"]["code"]) == (400, "RoleAssignmentUpdateNotPermitted")
    nobody = live.arm("PUT", f"{path}/{uuid.uuid4()}", body(READER, str(uuid.uuid4())))
    assert nobody.json()["error"]["code"] == "PrincipalNotFound"
    unknown = live.arm("PUT", f"{path}/{uuid.uuid4()}", body(str(uuid.uuid4()), principal), token=live.owner())
    assert unknown.json()["error"]["code"] == "RoleDefinitionDoesNotExist"
    listed = live.arm("GET", path, **{"$filter": f"principalId eq '{principal}'"}).json()["value"]
    assert [one["name"] for one in listed] == [name]


def test_the_operator_has_the_role_of_the_page_and_no_more(live: Live) -> None:
    """Rights that the page does not give are missing, and so is the right to give oneself more."""
    estate.build(live)
    live.put(estate.VAULT, estate.vault(live))
    refused = live.arm("POST", f"{estate.VAULT}/deploy")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "AuthorizationFailed")
    path, given = f"{GROUP}/providers/Microsoft.Authorization/roleAssignments", str(uuid.uuid4())
    identity = live.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
    for who in (live.cloud._identity.operator["principalId"], identity):
        assert live.arm("PUT", f"{path}/{given}", body(OWNER, who)).status_code == 403
    assert live.arm("PUT", f"{path}/{given}", body(OWNER, identity), token=live.owner()).status_code == 201
    assert live.arm("DELETE", f"{path}/{given}").status_code == 403
    assert live.arm("DELETE", f"{path}/{assign(live, scope=GROUP, role=READER, principal=identity)}").status_code == 200


def test_the_operator_s_condition_is_that_of_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "getting-started.md").read_text(encoding="utf-8")
    condition = page.partition('--condition "')[2].partition('"')[0]
    spaces = str.maketrans("", "", " \n")
    seeded = operator_condition(operator="OPERATOR", people=["OFFICER"])
    assert condition.translate(spaces) == seeded.translate(spaces)


def body(role: str, principal: str) -> dict[str, dict[str, str]]:
    definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    return {
        "properties": {"principalId": principal, "roleDefinitionId": definition, "principalType": "ServicePrincipal"}
    }


def assign(live: Live, *, scope: str, role: str, principal: str) -> str:
    """Assign a role as the owner, and return the assignment's name."""
    name = str(uuid.uuid4())
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"
    assert live.arm("PUT", path, body(role, principal), token=live.owner()).status_code == 201
    return name
