"""Lifecycle rules of storage accounts, which delete old blobs.

Azure applies the rules about once a day by itself; the lab applies the rules on request. The sources are pages of
learn.microsoft.com: "Azure Blob Storage lifecycle management overview" (once a day; with a firewall, only where trusted
services may pass) and "Lifecycle management policy structure" (prefixes begin with the container; ages are whole days).
The overview's "Known issues and limitations" says that the delete action "won't work with any blob in an immutable
container", with no exception for blobs whose retention has ended. So the lab's rules delete nothing in a container with
a retention (docs/first-real-up.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from lab.cloud.azure.blobs import BlobStore, Key
from lab.cloud.azure.schema import blob_container, storage_account
from lab.cloud.store import DocumentStore, ResourceDocument

log = logging.getLogger(__name__)


def delete_old(store: DocumentStore, blobs: BlobStore, *, now: float | None = None) -> list[str]:
    """Apply the rules of every account once, as of ``now`` (seconds since the epoch; None for this moment). Return each
    deleted blob as ``<container>/<blob>``."""
    at, deleted = time.time() if now is None else now, []
    for account in store.of_type(storage_account.TYPE):
        for name, key in list(_old(store, blobs, account, at)):
            blobs.delete(key)
            deleted.append(name)
    log.info("lifecycle rules deleted %s blobs", len(deleted))
    return deleted


def _old(store: DocumentStore, blobs: BlobStore, account: ResourceDocument, now: float) -> Iterator[tuple[str, Key]]:
    acls = account.body["properties"]["networkAcls"]
    if acls["defaultAction"] == "Deny" and acls["bypass"] != "AzureServices":
        return
    rules = blob_container.rules_of(store, account)
    for container in blob_container.containers_of(store, account):
        if blob_container.retention_s(store, container):
            continue
        place = blob_container.place_of(account, container)
        for blob in blobs.names(place, container.name, prefix=""):
            name, age_s = f"{container.name}/{blob.name}", now - blob.modified
            if any(_covers(rule, name, age_s) for rule in rules):
                yield name, (place, container.name, blob.name)


def _covers(rule: blob_container.ManagementRule, name: str, age_s: float) -> bool:
    days = rule.definition.actions.base_blob.delete.days_after_creation_greater_than
    named = any(name.startswith(prefix) for prefix in rule.definition.filters.prefix_match)
    return named and age_s // blob_container.DAY_S > days
