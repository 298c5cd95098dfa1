"""Vaults, storage accounts and buckets: closed to the internet, and not lost by accident."""

from __future__ import annotations

from collections.abc import Iterator

from longhaul.policy.declared import Declared, parse_range
from longhaul.policy.resource import STORAGE_ACCOUNT, VAULT, Resource
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.values import at, is_true, sections, shown

_BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
_ACLS = ("aws:s3/bucketAcl:BucketAcl", "aws:s3/bucketAclV2:BucketAclV2")
_BLOCKED = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
"""The four halves of S3's Block Public Access (docs.aws.amazon.com, "Blocking public access to your Amazon S3
storage")."""

OPEN_ACLS = ("public-read", "public-read-write", "authenticated-read")
"""Canned lists that admit more than an account's own (docs.aws.amazon.com, "Access control list (ACL) overview")."""


def _network(resource: Resource, declared: Declared) -> Iterator[Fault]:
    vault = resource.kind == VAULT
    root = "properties." if vault else ""
    rules = f"{root}networkAcls" if vault else "networkRuleSet"
    if at(resource.inputs, f"{root}publicNetworkAccess") == "Disabled":
        return
    action = at(resource.inputs, f"{rules}.defaultAction")
    if action != "Deny":
        yield Fault(what=f"{rules}.defaultAction is {shown(action)}: the whole internet reaches it", write="Deny")
    bypass = at(resource.inputs, f"{rules}.bypass")
    if bypass != "None":
        yield Fault(
            what=f"{rules}.bypass is {shown(bypass)}: services of other tenants pass by the rules", write="None"
        )
    for place, rule in sections(resource.inputs, f"{rules}.ipRules"):
        source = rule.get("value" if vault else "iPAddressOrRange")
        network = parse_range(str(source))
        if network is None or not declared.admits_operator(network):
            yield Fault(
                what=f"{place} admits {shown(source)}, which is no operator's",
                write="a range that access.operators declares",
            )


def _anonymous(resource: Resource, _: Declared) -> Iterator[Fault]:
    if resource.kind == STORAGE_ACCOUNT:
        value = resource.inputs.get("allowBlobPublicAccess")
        if value is not False:
            yield Fault(what=f"allowBlobPublicAccess is {shown(value)}", write="allowBlobPublicAccess: false")
    elif resource.kind == _BLOCK:
        for key in _BLOCKED:
            if not is_true(resource.inputs.get(key)):
                yield Fault(what=f"{key} is {shown(resource.inputs.get(key))}", write=f"{key}: true")
    elif resource.inputs.get("acl") in OPEN_ACLS:
        yield Fault(what=f"acl is {resource.inputs['acl']}", write="no list: buckets made since April 2023 have none")


def _recoverable(resource: Resource, declared: Declared) -> Iterator[Fault]:
    kept = at(resource.inputs, "properties.enableSoftDelete")
    if not is_true(kept):
        yield Fault(what=f"properties.enableSoftDelete is {shown(kept)}", write="enableSoftDelete: true")
    protected = at(resource.inputs, "properties.enablePurgeProtection")
    if not is_true(protected) and not declared.destroyable:
        yield Fault(
            what=f"properties.enablePurgeProtection is {shown(protected)}: who may purge can end every secret at once",
            write="enablePurgeProtection: true, or `destroyable: true` for an environment that is to go",
        )


RULES = (
    Rule(
        id="store-network",
        reason="A vault or storage account admits named subnets and declared operator ranges, and nobody else.",
        source="CIS Azure v4.0.0, 9.3.7, 10.3.2.2 and 10.3.2.3; docs/certificates.md",
        kinds=frozenset({VAULT, STORAGE_ACCOUNT}),
        look=_network,
    ),
    Rule(
        id="store-anonymous",
        reason="Nothing is read without signing in: no anonymous blobs, no public buckets.",
        source="CIS AWS v5.0.0, 2.1.4; AWS Security Hub S3.8 and S3.12; CIS Azure v4.0.0, 10.3.9",
        kinds=frozenset({STORAGE_ACCOUNT, _BLOCK, *_ACLS}),
        look=_anonymous,
    ),
    Rule(
        id="vault-recoverable",
        reason=(
            "A vault keeps what is deleted and cannot be purged before, since it is the only place of the authorities' "
            "keys; where the environment is declared destroyable, purging is what `destroy` does."
        ),
        source="CIS Azure v4.0.0, 9.3.5; docs/certificates.md",
        kinds=frozenset({VAULT}),
        look=_recoverable,
    ),
)
