"""No secret is ever shown, in any form."""

from __future__ import annotations

import base64
import json

import pytest

from clouds.base.inputs import MASKED
from longhaul.judgement.masking import is_secret_key, mask, mask_file
from longhaul.judgement.text import to_json, to_text
from longhaul.plan.markdown import to_markdown
from tests.longhaul.judgement.steps import TEMPLATE, VM, judged, step

SECRET = "hunter2hunter2"


def cloud_config(content: str) -> str:
    lines = "\n".join(f"    {line}" for line in content.splitlines())
    text = f"#cloud-config\nwrite_files:\n- path: /etc/longhaul/a.env\n  content: |\n{lines}\n"
    return base64.b64encode(text.encode()).decode()


PEM = f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----"

LONG = "0123456789 " * 20

CHANGES = [
    ({"sharedKey": "old"}, {"sharedKey": SECRET}),
    ({"sharedKey": SECRET}, {"sharedKey": MASKED}),
    ({"tunnel1PresharedKey": SECRET}, {}),
    ({"settings": {"adminPassword": "a"}}, {"settings": {"adminPassword": SECRET}}),
    ({"list": [{"name": "a", "token": SECRET}]}, {"list": [{"name": "a", "token": "other"}]}),
    ({"url": "https://a"}, {"url": f"https://user:{SECRET}@a"}),
    ({"text": "a"}, {"text": f"a\n{PEM}\n"}),
    ({"text": "a\nb"}, {"text": f"a\nb\n{PEM}\n"}),
    ({"document": json.dumps({"a": LONG})}, {"document": json.dumps({"a": LONG, "password": SECRET})}),
    ({"osProfile": {"customData": cloud_config("A=1\nPASSWORD=x")}},
     {"osProfile": {"customData": cloud_config(f"A=2\nPASSWORD={SECRET}")}}),
    ({"userData": cloud_config("a")}, {"userData": cloud_config(f"header: Bearer {SECRET}\n{PEM}")}),
    ({"wrapped": {"value": "x"}},
     {"wrapped": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": SECRET}}),
]  # fmt: skip


@pytest.mark.parametrize("kind", [VM, TEMPLATE, "azure-native:network:VirtualNetworkGatewayConnection"])
@pytest.mark.parametrize("before_after", CHANGES, ids=lambda pair: next(iter(pair[0])))
@pytest.mark.parametrize("op", ["update", "replace", "create", "delete"])
def test_no_form_shows_a_secret(op: str, before_after: tuple[dict[str, object], dict[str, object]], kind: str) -> None:
    plan = judged(step(op, kind, "lab-api-0", *before_after))
    for written in (to_text(plan), to_markdown(plan), to_json(plan)):
        assert SECRET not in written


def test_that_a_secret_changes_is_said() -> None:
    kind = "azure-native:network:VirtualNetworkGatewayConnection"
    masked_both = {"sharedKey": MASKED}
    plan = judged(
        step("update", kind, "lab-links-weu-rack-c", masked_both, masked_both, detailed={"sharedKey": "update"})
    )
    assert [(one.path, one.before, one.after) for one in plan.parts[0].lines[0].properties] == [
        ("sharedKey", MASKED, MASKED)
    ]


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "adminPassword",
        "sharedKey",
        "tunnel2_preshared_key",
        "apiKey",
        "clientSecret",
        "token",
        "sas_url",
        "psk",
    ],
)
def test_keys_that_are_secret(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key", ["httpTokens", "keyData", "publicKey", "monkey", "vaultName", "maxSize", "kubernetesVersion", "passive"]
)
def test_keys_that_are_not(key: str) -> None:
    assert not is_secret_key(key)


def test_what_is_no_secret_stays() -> None:
    assert mask({"a": [1, True, None, "b"], "httpTokens": "required"}) == {
        "a": [1, True, None, "b"],
        "httpTokens": "required",
    }
    file = "KUBE_ARGS=--v=2 --etcd-servers=https://10.64.1.10:2379\nimage: registry/pause@sha256:" + "a" * 64
    assert mask_file(file) == file


def test_an_id_of_a_resource_in_azure_is_no_secret() -> None:
    group = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/prod-weu/providers"
    line = f"-{group}/Microsoft.Compute/galleries/longhaul"
    assert mask_file(line) == line
    assert mask_file("-/subscriptions/" + "Zm9v" * 12) == MASKED


def test_a_files_opaque_runs_are_masked() -> None:
    assert mask_file("key = " + "Zm9v" * 12) == f"key = {MASKED}"
