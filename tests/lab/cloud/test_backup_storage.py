"""Blob storage as backups need it: containers of the resource manager's, retention, rights without deletion, hashes
and metadata."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import ContentSettings

from clouds.azure.blobs import listed
from clouds.azure.containers import end_retention, retain
from clouds.azure.errors import AzureError
from clouds.azure.roles import BLOB_CONTRIBUTOR
from components.azure.conditions import NO_DELETION, own_backups
from components.azure.retention import RetentionProvider
from components.control_plane.guard import DESTROY_VARIABLE
from components.control_plane.replacement import GuardRefusedError
from components.model import Machine, control_machines, load, plan
from lab.cloud.azure.ids import ASSIGNMENT_TYPE
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import SUBSCRIPTION, Live
from tests.lab.cloud.test_blobs import ACCOUNT, account, client
from tests.lab.cloud.test_vault import operator
from tests.support.hosts import STACKS

CONTAINER = f"{ACCOUNT}/blobServices/default/containers/daily"
POLICY = f"{CONTAINER}/immutabilityPolicies/default"
RETENTION = {"properties": {"immutabilityPeriodSinceCreationInDays": 90}}
ROLE = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{BLOB_CONTRIBUTOR}"
GRANT = f"{ACCOUNT}/providers/Microsoft.Authorization/roleAssignments/00000000-0000-4000-8000-0000000000b1"


def grant(live: Live, **more: Any) -> dict[str, Any]:
    return {"properties": {"principalId": operator(live), "roleDefinitionId": ROLE, **more}}


def give(live: Live, **more: Any) -> None:
    """Give the operator rights to blobs, as the owner, in place of those given before."""
    token = live.owner()
    live.arm("DELETE", GRANT, token=token)
    assert live.arm("PUT", GRANT, grant(live, **more), token=token).status_code == 201


@pytest.fixture(name="storage")
def _storage(live: Live) -> Live:
    estate.build(live, with_machine=False)
    live.put(ACCOUNT, account())
    live.put(CONTAINER, {})
    give(live)
    return live


def test_a_backup_keeps_its_metadata_and_its_hash_is_checked(storage: Live) -> None:
    container = client().get_container_client("daily")
    right = ContentSettings(content_md5=bytearray(hashlib.md5(b"one", usedforsecurity=False).digest()))
    container.upload_blob("etcd/1", b"one", metadata={"revision": "7"}, content_settings=right)
    assert container.get_blob_client("etcd/1").get_blob_properties().metadata == {"revision": "7"}
    assert [blob.metadata for blob in container.list_blobs(include=["metadata"])] == [{"revision": "7"}]
    wrong = {"Content-MD5": base64.b64encode(b"0" * 16).decode()}
    with pytest.raises(HttpResponseError, match="Md5Mismatch"):
        container.upload_blob("etcd/2", b"two", headers=wrong)


def test_under_retention_a_blob_is_made_once_and_stays(storage: Live) -> None:
    storage.put(POLICY, RETENTION)
    container = client().get_container_client("daily")
    container.upload_blob("etcd/1", b"one")
    for call in (
        lambda: container.upload_blob("etcd/1", b"x", overwrite=True),
        lambda: container.delete_blob("etcd/1"),
    ):
        with pytest.raises(HttpResponseError, match="BlobImmutableDueToPolicy"):
            call()
    assert storage.arm("DELETE", CONTAINER).status_code == 409
    assert storage.arm("DELETE", POLICY).json()["error"]["code"] == "ContainerImmutabilityPolicyFailure"


def test_a_condition_takes_deletion_away_and_nothing_else(storage: Live) -> None:
    give(storage, condition=NO_DELETION, conditionVersion="2.0")
    container = client().get_container_client("daily")
    container.upload_blob("etcd/1", b"one")
    assert container.download_blob("etcd/1").readall() == b"one"
    with pytest.raises(HttpResponseError, match="AuthorizationPermissionMismatch"):
        container.delete_blob("etcd/1")


def member(name: str) -> Machine:
    """Return a member of the lab's control plane."""
    lab = load(STACKS / "Pulumi.lab.yaml")
    return next(one for one in control_machines(lab, plan(lab)) if one.name == name)


OWN, OTHERS = "etcd/2030-05-04T103000Z-lab-etcd-1.db.gz.age", "etcd/2030-05-04T103000Z-lab-etcd-2.db.gz.age"


@pytest.mark.parametrize(
    ("name", "reads", "lists", "makes"),
    [
        ("lab-etcd-1", True, True, True),
        ("lab-etcd-2", True, True, False),
        ("lab-events-1", False, False, False),
    ],
)
def test_a_member_sees_its_own_etcd_cluster_s_and_makes_those_in_its_own_name(
    storage: Live, name: str, reads: bool, lists: bool, makes: bool
) -> None:
    container = client().get_container_client("daily")
    container.upload_blob(OTHERS, b"one")
    give(storage, condition=own_backups(member(name)), conditionVersion="2.0")
    for allowed, call in (
        (reads, lambda: container.download_blob(OTHERS).readall()),
        (lists, lambda: list(container.list_blobs(name_starts_with="etcd/"))),
        (False, lambda: list(container.list_blobs())),
        (False, lambda: list(container.list_blobs(name_starts_with="e"))),
        (makes, lambda: container.upload_blob(OWN, b"two")),
        (makes, lambda: container.upload_blob(OWN, b"three", overwrite=True)),
        (False, lambda: container.delete_blob(OWN if makes else OTHERS)),
    ):
        if allowed:
            call()
        else:
            with pytest.raises(HttpResponseError, match="AuthorizationPermissionMismatch"):
                call()


@pytest.mark.parametrize("forgotten", ["write", "add/action"])
def test_a_condition_that_forgets_one_of_the_actions_that_make_blobs_is_open(storage: Live, forgotten: str) -> None:
    whole = own_backups(member("lab-events-1"))
    open_ = whole.replace(f"containers/blobs/{forgotten}'", "containers/blobs/tags/read'")
    assert open_ != whole
    give(storage, condition=open_, conditionVersion="2.0")
    client().get_container_client("daily").upload_blob(OWN, b"one")


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (
            GRANT,
            {"condition": '@Resource[x] StringEquals "y"', "conditionVersion": "2.0"},
            "begins nothing that is known",
        ),
        (GRANT, {"condition": NO_DELETION}, "go together"),
        (ACCOUNT, account(ranges=("198.51.100.2/32",)), "the addresses themselves"),
        (f"{ACCOUNT}/managementPolicies/default", {"properties": {"policy": {"rules": []}}}, "rules"),
        (f"{ACCOUNT}/blobServices/default/containers/A", {}, "not a valid container name"),
    ],
    ids=["condition", "version", "small-range", "no-rules", "name"],
)
def test_what_azure_or_the_lab_refuses(storage: Live, path: str, body: dict[str, Any], said: str) -> None:
    whole = grant(storage, **body) if path == GRANT else body
    answer = storage.arm("PUT", path, whole, token=storage.owner())
    assert answer.status_code == 400
    assert said in answer.text


def test_a_container_made_anew_is_empty(storage: Live) -> None:
    client().get_container_client("daily").upload_blob("etcd/1", b"one")
    storage.arm("DELETE", CONTAINER)
    storage.put(CONTAINER, {})
    assert not list(client().get_container_client("daily").list_blobs())


def test_a_refused_change_of_a_retention_names_the_role(storage: Live) -> None:
    second = f"/subscriptions/{SUBSCRIPTION}/providers/{ASSIGNMENT_TYPE}/00000000-0000-4000-8000-0000000000f2"
    assert storage.arm("DELETE", second, token=storage.owner()).status_code == 200
    with pytest.raises(AzureError, match="with the role Longhaul destroyer"):
        retain(CONTAINER, days=90)


EXPIRY = f"{ACCOUNT}/managementPolicies/default"
DAY_S = 86400


def expiry(days: int, *, prefix: str = "daily/") -> dict[str, Any]:
    definition = {
        "actions": {"baseBlob": {"delete": {"daysAfterCreationGreaterThan": days}}},
        "filters": {"blobTypes": ["blockBlob"], "prefixMatch": [prefix]},
    }
    return {"properties": {"policy": {"rules": [{"name": "old", "type": "Lifecycle", "definition": definition}]}}}


def deleted(storage: Live, *, days: float) -> list[str]:
    """Return what the rules delete when these days have passed."""

    async def delete() -> list[str]:
        return storage.cloud.delete_old_blobs(now=time.time() + days * DAY_S)

    return storage.call(delete())


def test_rules_delete_nothing_where_there_is_a_retention_even_when_it_has_ended(storage: Live) -> None:
    storage.put(POLICY, RETENTION)
    storage.put(EXPIRY, expiry(7))
    client().get_container_client("daily").upload_blob("etcd/1", b"one", metadata={"revision": "7"})
    assert deleted(storage, days=90.1) == []


@pytest.mark.parametrize(
    ("rule", "days", "gone"),
    [(expiry(7), 7.9, False), (expiry(7), 8.1, True), (expiry(7, prefix="hourly/"), 99, False), (None, 99, False)],
    ids=["not-old", "old", "another-container", "no-rules"],
)
def test_rules_delete_what_is_more_than_so_many_days_old(
    storage: Live, rule: dict[str, Any] | None, days: float, gone: bool
) -> None:
    if rule:
        storage.put(EXPIRY, rule)
    client().get_container_client("daily").upload_blob("etcd/1", b"one")
    assert bool(deleted(storage, days=days)) is gone


def test_a_firewall_that_lets_no_service_pass_blocks_the_rules(storage: Live) -> None:
    closed = account()
    closed["properties"]["networkAcls"]["bypass"] = "None"  # type: ignore[index]
    storage.put(ACCOUNT, closed)
    storage.put(EXPIRY, expiry(7))
    client().get_container_client("daily").upload_blob("etcd/1", b"one")
    assert deleted(storage, days=99) == []


def test_a_retention_is_set_changed_and_ended(storage: Live) -> None:
    for days in (1, 2):
        retain(CONTAINER, days=days)
        assert storage.arm("GET", POLICY).json()["properties"]["immutabilityPeriodSinceCreationInDays"] == days
    end_retention(CONTAINER)
    end_retention(CONTAINER)
    assert storage.arm("DELETE", CONTAINER).status_code == 200


def test_a_retention_ends_with_its_environment_alone(storage: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DESTROY_VARIABLE, raising=False)
    # The engine gives numbers as floats.
    provider, props = RetentionProvider(), {"container": CONTAINER, "days": 7.0, "environment": "lab"}
    provider.create(props)
    with pytest.raises(
        GuardRefusedError, match=r"lhlabsnapshots/daily keeps its backups for 7 days, and the file says 6"
    ):
        provider.update("", props, {**props, "days": 6})
    provider.update("", props, {**props, "days": 8})
    days = storage.arm("GET", POLICY).json()["properties"]["immutabilityPeriodSinceCreationInDays"]
    assert days == 8
    for environment in ("", "prod"):
        monkeypatch.setenv(DESTROY_VARIABLE, environment)
        with pytest.raises(GuardRefusedError, match="Put `backups` back into the file"):
            provider.delete("", props)
    monkeypatch.setenv(DESTROY_VARIABLE, "lab")
    provider.delete("", props)
    # What is gone is nothing to keep.
    monkeypatch.delenv(DESTROY_VARIABLE)
    provider.delete("", props)


def test_the_operator_lists_what_members_made(storage: Live) -> None:
    client().get_container_client("daily").upload_blob("etcd/1", b"one", metadata={"revision": "7"})
    (found,) = listed("lhlabsnapshots", "daily", "etcd/")
    assert (found.name, found.size, found.metadata) == ("etcd/1", 3, {"revision": "7"})
    assert not list(listed("lhlabsnapshots", "daily", "events/"))
    with pytest.raises(AzureError, match="404"):
        list(listed("lhlabsnapshots", "none", ""))
