"""Instance metadata, as a machine requests it."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import jwt
import pytest
import requests

from lab.cloud.app import SUBSCRIPTION
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, NETWORK, Live, Source

URL = "http://169.254.169.254/metadata"


def ask(
    path: str, *, source: str = "127.8.0.10", headers: dict[str, str] | None = None, **query: str
) -> requests.Response:
    session = requests.Session()
    session.mount("http://", Source(source))
    given = {"Metadata": "true"} if headers is None else headers
    return session.get(f"{URL}{path}", params={"api-version": "2021-12-13", **query}, headers=given, timeout=10)


def test_a_machine_learns_who_it_is(built: Live) -> None:
    compute = ask("/instance").json()["compute"]
    assert (compute["name"], compute["location"], compute["resourceGroupName"], compute["zone"]) == (
        "api-0",
        "westeurope",
        "lab",
        "1",
    )
    assert compute["resourceId"] == estate.VM
    assert compute["vmId"] == built.hypervisor.world.machines[0].generation
    interface = ask("/instance/network/interface/0/ipv4/ipAddress/0/privateIpAddress", format="text")
    assert interface.text == "127.8.0.10"


def test_custom_data_is_not_shown(built: Live) -> None:
    document = ask("/instance").text
    assert "#cloud-config" not in document
    assert base64.b64encode(b"#cloud-config\n").decode() not in document


@pytest.mark.parametrize(
    ("headers", "query"),
    [({}, {}), ({"Metadata": "true", "X-Forwarded-For": "1.2.3.4"}, {}), ({"Metadata": "true"}, {"api-version": ""})],
)
def test_requests_that_a_proxy_could_have_made_are_refused(
    built: Live, headers: dict[str, str], query: dict[str, str]
) -> None:
    assert ask("/instance", headers=headers, **query).status_code == 400


def test_who_is_no_machine_is_told_nothing(built: Live) -> None:
    assert ask("/instance", source="127.8.0.11").status_code == 404
    assert ask("/attested/document", source="127.8.0.11", nonce="0123456789").status_code == 404


def test_tokens_are_of_the_machines_own_identities(live: Live) -> None:
    estate.build(live)
    identity = live.arm("GET", estate.IDENTITY).json()["properties"]
    answer = ask("/identity/oauth2/token", resource="https://vault.azure.net").json()
    claims = jwt.decode(answer["access_token"], options={"verify_signature": False})
    assert (claims["oid"], claims["aud"]) == (identity["principalId"], "https://vault.azure.net")
    assert answer["client_id"] == identity["clientId"]
    assert ask("/identity/oauth2/token", resource="https://vault.azure.net", client_id="other").status_code == 400
    second = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/second"
    live.put(second, estate.WHERE)
    shown = live.arm("GET", estate.VM).json()
    shown["identity"]["userAssignedIdentities"][second] = {}
    live.put(estate.VM, shown)
    assert ask("/identity/oauth2/token", resource="https://vault.azure.net").status_code == 400
    chosen = ask("/identity/oauth2/token", resource="https://vault.azure.net", client_id=identity["clientId"])
    assert chosen.json()["client_id"] == identity["clientId"]


def test_a_machine_without_identity_gets_no_token(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(estate.VM, estate.machine())
    assert ask("/identity/oauth2/token", resource="https://vault.azure.net").status_code == 400


def test_the_network_of_the_listener_decides(live: Live) -> None:
    """The same address in another network is another machine, or none."""
    estate.build(live)
    other = f"{NETWORK}2"
    live.put(other, estate.network())
    live.put(f"{other}/subnets/api", estate.subnet())
    nic, machine = f"{estate.NIC}-two", f"{estate.VM}-two"
    live.put(nic, estate.interface(subnet_id=f"{other}/subnets/api"))
    live.put(machine, estate.machine(nic=nic))
    assert ask("/instance").json()["compute"]["resourceId"] == estate.VM


def test_the_attested_document_is_signed_for_this_machine(built: Live, tmp_path: Path) -> None:
    """openssl checks that the lab's authority signed it, in Azure's name."""
    answer = ask("/attested/document", nonce="0123456789").json()
    assert answer["encoding"] == "pkcs7"
    signature, signer = tmp_path / "signature", tmp_path / "signer.pem"
    signature.write_bytes(base64.b64decode(answer["signature"]))
    check = ["openssl", "cms", "-verify", "-noverify", "-inform", "DER", "-in", signature, "-signer", signer]
    said = json.loads(subprocess.run(check, capture_output=True, check=True).stdout)
    assert (said["vmId"], said["nonce"]) == (built.hypervisor.world.machines[0].generation, "0123456789")
    assert said["subscriptionId"] == SUBSCRIPTION
    trust = ["openssl", "verify", "-CAfile", built.cloud.ca_certificate, "-verify_hostname", "metadata.azure.com"]
    subprocess.run([*trust, "-purpose", "sslserver", signer], capture_output=True, check=True)


@pytest.mark.parametrize("nonce", ["", "12345", "01234567890", "abcdefghij"])
@pytest.mark.usefixtures("built")
def test_a_nonce_has_ten_digits(nonce: str) -> None:
    assert ask("/attested/document", nonce=nonce).status_code == 400
