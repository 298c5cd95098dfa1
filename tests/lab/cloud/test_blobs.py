"""Blob storage with Azure's own library: containers, small blobs and blobs in blocks, ranges, roles, firewall."""

from __future__ import annotations

import pytest
import requests
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import EnvironmentCredential
from azure.storage.blob import BlobServiceClient

from clouds.azure.roles import BLOB_CONTRIBUTOR, BLOB_READER
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, Live, Source
from tests.lab.cloud.test_identity import assign
from tests.lab.cloud.test_vault import operator

ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/lhlabsnapshots"
URL = "https://lhlabsnapshots.blob.core.windows.net/"


def client(**options: int) -> BlobServiceClient:
    session = requests.Session()
    session.mount("https://", Source("127.0.0.1"))
    transport = RequestsTransport(session=session, session_owner=False)
    return BlobServiceClient(URL, EnvironmentCredential(), transport=transport, retry_total=0, **options)


def account(*, ranges: tuple[str, ...] = ("127.0.0.0/8",)) -> dict[str, object]:
    acls = {"defaultAction": "Deny", "ipRules": [{"value": one} for one in ranges]}
    properties = {"allowBlobPublicAccess": False, "allowSharedKeyAccess": False, "networkAcls": acls}
    return {"location": "westeurope", "kind": "StorageV2", "sku": {"name": "Standard_ZRS"}, "properties": properties}


@pytest.fixture(name="storage")
def _storage(live: Live) -> Live:
    estate.build(live, with_machine=False)
    live.put(ACCOUNT, account())
    assign(live, scope=ACCOUNT, role=BLOB_CONTRIBUTOR, principal=operator(live))
    return live


def test_a_blob_comes_back_as_it_went_in(storage: Live) -> None:
    container = client().create_container("snapshots")
    container.upload_blob("etcd/1.db", b"one & only")
    assert container.download_blob("etcd/1.db").readall() == b"one & only"
    assert container.download_blob("etcd/1.db", offset=4, length=1).readall() == b"&"
    container.upload_blob("etcd/2.db", b"")
    assert [(blob.name, blob.size) for blob in container.list_blobs(name_starts_with="etcd/")] == [
        ("etcd/1.db", 10),
        ("etcd/2.db", 0),
    ]
    container.delete_blob("etcd/1.db")
    with pytest.raises(ResourceNotFoundError):
        container.download_blob("etcd/1.db")


def test_a_large_blob_goes_up_in_blocks(storage: Live) -> None:
    container = client(max_single_put_size=1024, max_block_size=1024).create_container("large")
    content = bytes(range(256)) * 13
    container.upload_blob("snapshot", content)
    assert container.download_blob("snapshot").readall() == content


def test_a_blob_is_replaced_only_when_told_so(storage: Live) -> None:
    container = client().create_container("once")
    container.upload_blob("name", b"first")
    with pytest.raises(ResourceExistsError):
        container.upload_blob("name", b"second")
    container.upload_blob("name", b"third", overwrite=True)
    assert container.download_blob("name").readall() == b"third"


def test_a_container_is_made_once(storage: Live) -> None:
    client().create_container("twice")
    with pytest.raises(ResourceExistsError):
        client().create_container("twice")
    with pytest.raises(ResourceNotFoundError):
        client().get_container_client("none").upload_blob("name", b"")


def test_who_has_no_role_or_only_reads_writes_nothing(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(ACCOUNT, account())
    # An owner of the subscription may make containers, but neither read nor write their blobs.
    container = client().create_container("any")
    for call in (lambda: container.upload_blob("name", b"x"), lambda: container.download_blob("name")):
        with pytest.raises(HttpResponseError, match="AuthorizationPermissionMismatch"):
            call()
    assign(live, scope=ACCOUNT, role=BLOB_READER, principal=operator(live))
    with pytest.raises(ResourceNotFoundError):
        container.download_blob("name")
    with pytest.raises(HttpResponseError, match="AuthorizationPermissionMismatch"):
        container.upload_blob("name", b"x")


def test_the_firewall_keeps_strangers_out(storage: Live) -> None:
    storage.put(ACCOUNT, account(ranges=("203.0.113.0/24",)))
    with pytest.raises(HttpResponseError, match="AuthorizationFailure"):
        client().create_container("any")


def test_what_it_does_not_do_is_said(storage: Live) -> None:
    container = client().create_container("other")
    with pytest.raises(HttpResponseError, match="NotSupportedByLab"):
        container.get_blob_client("log").create_append_blob()
