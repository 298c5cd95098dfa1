"""Issuers of people's tokens: what of them is refused, and the authenticators that are made of them."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.model import load
from components.model.identity.section import Issuer
from components.model.identity.sign_in import settings
from tests.model import make
from tests.model.files import only, problems_of, write
from tests.model.make import issuer

OF_NO_VERSION = ssl.DER_cert_to_PEM_cert(
    ssl.PEM_cert_to_DER_cert(make.AUTHORITY).replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x05", 1)
)
"""Certificate of a version that there is not (RFC 5280, 4.1.2.1)."""
LEAF = """\
-----BEGIN CERTIFICATE-----
MIIBMTCB5KADAgECAhRGv/EyjYZAfdHLuTw6W8JKmY97gzAFBgMrZXAwDzENMAsG
A1UEAwwEbGVhZjAgFw0yNjExMjQxNjE5MzVaGA8yMTI2MTAzMTE2MTkzNVowDzEN
MAsGA1UEAwwEbGVhZjAqMAUGAytlcAMhAJkIKzjKAaVDko/YyvmslFMj9AodXcf/
QuojY7HMXTOoo1AwTjAdBgNVHQ4EFgQUHt5lWPeJu76F73weuxiJTi5hrAEwHwYD
VR0jBBgwFoAUHt5lWPeJu76F73weuxiJTi5hrAEwDAYDVR0TAQH/BAIwADAFBgMr
ZXADQQBpfIf1pOjk+IIWQINkPy/7pTuPnZSAFmgWFJ2lWv3xkw0zSwRAY4lQdM2k
OlE97UsugshAFdU9LFmxKR53kakM
-----END CERTIFICATE-----
"""
"""Certificate of a server."""

TENANT = "aaaabbbb-0000-cccc-1111-dddd2222eeee"
"""A tenant of Entra's own documents."""


def identity(*, groups: dict[str, Any] | None = None, **issuers: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest environment with issuers."""
    return {**make.minimal(), "identity": {"issuers": issuers, "groups": groups or {}}}


def test_nobody_signs_in_where_no_issuer_is_named(tmp_path: Path) -> None:
    environment = load(write(tmp_path, make.minimal()))
    assert json.loads(settings(environment)) == {"jwt": "[]"}


def test_an_issuer_becomes_an_authenticator(tmp_path: Path) -> None:
    raw = identity(corp=issuer(required_claims={"tid": "t"}, certificate_authority=make.AUTHORITY, token_hours=2))
    (found,) = json.loads(json.loads(settings(load(write(tmp_path, raw))))["jwt"])
    assert found["issuer"] == {
        "url": "https://corp.example.com",
        "audiences": ["longhaul"],
        "audienceMatchPolicy": "MatchAny",
        "certificateAuthority": make.AUTHORITY,
    }
    assert found["claimMappings"] == {
        "username": {"claim": "sub", "prefix": "corp:"},
        "groups": {"claim": "groups", "prefix": "corp:"},
    }
    required, life = found["claimValidationRules"]
    assert required == {"claim": "tid", "requiredValue": "t"}
    assert life["expression"] == "claims.exp - claims.iat <= 7200"


@pytest.mark.parametrize("part", ["username", "groups"])
@pytest.mark.parametrize("prefix", ["system:", "longhaul:"])
def test_nobody_is_called_like_the_cluster_s_own(tmp_path: Path, part: str, prefix: str) -> None:
    problem = only(write(tmp_path, identity(corp=issuer(**{part: {"claim": "x", "prefix": prefix}}))))
    assert problem.key == f"identity.issuers.corp.{part}.prefix"
    assert "begins names of the cluster's own" in problem.wrong


@pytest.mark.parametrize("prefix", ["", "corp", "corp::", "system:x:", ":", "Corp:", "corp: "])
def test_a_prefix_ends_with_its_only_colon(tmp_path: Path, prefix: str) -> None:
    problem = only(write(tmp_path, identity(corp=issuer(username={"claim": "sub", "prefix": prefix}))))
    assert problem.key == "identity.issuers.corp.username.prefix"


@pytest.mark.parametrize("part", ["username", "groups"])
def test_no_issuer_s_people_have_names_of_another_s(tmp_path: Path, part: str) -> None:
    second = issuer("okta", **{part: {"claim": "sub", "prefix": "corp:"}})
    problem = only(write(tmp_path, identity(corp=issuer(), okta=second)))
    assert problem.key == f"identity.issuers.okta.{part}.prefix"
    assert "is already the prefix of corp" in problem.wrong


@pytest.mark.parametrize("url", ["https://corp.example.com", "https://corp.example.com/"])
def test_each_issuer_is_named_once(tmp_path: Path, url: str) -> None:
    problem = only(write(tmp_path, identity(corp=issuer(), okta=issuer("okta", url=url))))
    assert (problem.key, "is the issuer corp already" in problem.wrong) == ("identity.issuers.okta.url", True)


@pytest.mark.parametrize(
    "url",
    [
        "https://corp.example.com:65536",
        "https://corp.example.com:0",
        "http://corp.example.com",
        "https://a:b@corp.example.com",
        "https://c.example.com?x=1",
        "https://c/#x",
        "corp",
    ],
)
def test_an_issuer_is_reached_by_https_alone(tmp_path: Path, url: str) -> None:
    assert only(write(tmp_path, identity(corp=issuer(url=url)))).key == "identity.issuers.corp.url"


def test_the_cluster_is_no_issuer_of_people(tmp_path: Path) -> None:
    problem = only(write(tmp_path, identity(corp=issuer(url="https://api.test.longhaul.internal:6443/"))))
    assert "it is the cluster's own issuer" in problem.wrong


@pytest.mark.parametrize("path", ["common/v2.0", "example.com/v2.0", f"{TENANT}/", f"{TENANT}/v2.0/", TENANT])
def test_an_address_of_entra_s_that_is_no_issuer_is_refused(tmp_path: Path, path: str) -> None:
    wrong = issuer(url=f"https://login.microsoftonline.com/{path}")
    assert "is not the issuer that Entra's tokens name" in only(write(tmp_path, identity(corp=wrong))).wrong


def test_a_tenant_of_entra_s_is_an_issuer(tmp_path: Path) -> None:
    right = issuer(url=f"https://login.microsoftonline.com/{TENANT}/v2.0")
    assert load(write(tmp_path, identity(corp=right))).identity.issuers["corp"].url == right["url"]


def test_what_our_documents_write_for_a_company_s_own_is_no_issuer(tmp_path: Path, root: Path) -> None:
    """The example of docs/sign-in.md, as it is there, and that of the reference."""
    block = (root / "docs" / "sign-in.md").read_text().partition("    identity:\n")[2].partition("\n\n[")[0]
    section = yaml.safe_load(f"    identity:\n{block}")
    found = problems_of(write(tmp_path, {**make.minimal(), **section}))
    assert {one.key: one.wrong for one in found} == {
        "identity.issuers.corp.url": "'https://login.microsoftonline.com/TENANT/v2.0' is an example from our documents",
        "identity.issuers.corp.audiences.0": "'APPLICATION' is a placeholder from our documents",
        "identity.groups.corp:0f3c…": "it is cut off, as in our documents",
        "identity.groups.corp:77aa…": "it is cut off, as in our documents",
    }
    example = (Issuer.model_fields["url"].examples or ())[0]
    assert only(write(tmp_path, identity(corp=issuer(url=example)))).key == "identity.issuers.corp.url"
    # A realm or an application may be called so.
    mine = issuer(url="https://login.test/tenant/IDs", audiences=["application"])
    assert load(write(tmp_path, identity(corp=mine))).identity.issuers["corp"].audiences == ("application",)


@pytest.mark.parametrize(
    ("pem", "wrong"),
    [
        (LEAF, "certificates that are not an authority's"),
        (make.AUTHORITY.replace("MII", "AAA"), "is not certificates in PEM"),
        (OF_NO_VERSION, "is not certificates in PEM"),
        (make.AUTHORITY + "-----BEGIN PRIVATE KEY-----\n", "a private key is not certificates"),
        (make.AUTHORITY + "-----BEGIN PRIVATE KEY-----\n" + make.AUTHORITY, "holds a private key"),
    ],
    ids=["leaf", "damaged", "version", "key", "key between"],
)
def test_an_authority_is_one(tmp_path: Path, pem: str, wrong: str) -> None:
    problem = only(write(tmp_path, identity(corp=issuer(certificate_authority=pem))))
    assert problem.key == "identity.issuers.corp.certificate_authority"
    assert wrong in problem.wrong


def test_an_audience_is_named_once(tmp_path: Path) -> None:
    problem = only(write(tmp_path, identity(corp=issuer(audiences=["a", "a"]))))
    assert problem.key == "identity.issuers.corp.audiences.1"


def test_as_many_issuers_as_the_vault_can_hold(tmp_path: Path) -> None:
    many = {f"i{n}": issuer(f"i{n}", certificate_authority=make.AUTHORITY * 10) for n in range(8)}
    problem = only(write(tmp_path, identity(**many)))
    assert (problem.key, "a vault's secret holds 25000" in problem.wrong) == ("identity.issuers", True)
    assert only(write(tmp_path, identity(**{f"i{n}": issuer(f"i{n}") for n in range(9)}))).key == "identity.issuers"


@pytest.mark.parametrize(
    ("group", "rights", "wrong"),
    [
        ("system:masters", {"everywhere": "view"}, "no issuer gives groups the prefix 'system:'"),
        ("okta:ml", {"everywhere": "view"}, "no issuer gives groups the prefix 'okta:'"),
        ("corp:ml", {}, "it has no rights"),
        ("corp:ml", {"namespaces": {"kube-system": "view"}}, "Kubernetes' own"),
        ("corp:ml", {"namespaces": {"monitoring": "edit"}}, "Pod Security does not hold in monitoring"),
        ("corp:ml", {"everywhere": "edit"}, "'edit'"),
    ],
)
def test_a_group_is_an_issuer_s_and_has_rights(tmp_path: Path, group: str, rights: dict[str, Any], wrong: str) -> None:
    raw = identity(corp=issuer(), groups={group: rights}) | {"pod_security": {"exempt_namespaces": ["monitoring"]}}
    problem = only(write(tmp_path, raw))
    assert problem.key.startswith(f"identity.groups.{group}")
    assert wrong in problem.wrong


def test_no_group_has_rights_by_an_issuer_without_groups(tmp_path: Path) -> None:
    raw = identity(corp=issuer(), groups={"corp:ml": {"everywhere": "view"}})
    del raw["identity"]["issuers"]["corp"]["groups"]
    assert [one.key for one in problems_of(write(tmp_path, raw))] == ["identity.groups.corp:ml"]


def test_people_sign_in_as_the_first_audience_unless_another_client_is_named(tmp_path: Path) -> None:
    raw = identity(corp=issuer(audiences=["a", "b"]), okta=issuer("okta", client_id="c"))
    found = load(write(tmp_path, raw)).identity.issuers
    assert [found[name].client for name in ("corp", "okta")] == ["a", "c"]
