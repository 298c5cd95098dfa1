"""Checks that the keys of a site's volumes admit the roles by which AWS launches pools' machines.

A customer's own key encrypts volumes if the image was baked with it, or if it is the region's default for EBS. The
policies of AWS's service-linked roles allow no customer's key and cannot be changed, so the key's policy or a grant has
to (docs.aws.amazon.com/autoscaling/ec2/userguide, "Required AWS KMS key policy for use with encrypted volumes"; EC2
user guide, "Service-linked role for Spot Instance requests"). A key of another account needs both: its policy lets the
pools' account use it and make a grant, and the grant lets the role ("Example 2" of the first source).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clouds.aws.key_policies import KeyAdmission, RoleRequest, is_open, judge
from clouds.aws.permissions import SERVICE_ROLE
from clouds.aws.reader import AwsReader, Caller, reader_errors
from clouds.aws.site import AwsSite
from clouds.base.doctor import CloudShare
from clouds.base.findings import Finding, NotAskedError, ok, problem, unknown, warning

SPOT_ROLE = "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
PAGE = "docs/images.md, A key of your own on AWS"

OPERATIONS = (
    "Encrypt",
    "Decrypt",
    "ReEncryptFrom",
    "ReEncryptTo",
    "GenerateDataKey",
    "GenerateDataKeyWithoutPlaintext",
    "DescribeKey",
    "CreateGrant",
)
"""Operations that a role needs, as grants name them: those of the two statements of the first source above."""


@dataclass(frozen=True, kw_only=True)
class _Key:
    """A customer's own key."""

    arn: str
    state: str

    @property
    def account(self) -> str:
        """Return the account that owns the key."""
        return self.arn.split(":")[4]


def volume_keys(share: CloudShare[AwsSite], reader: AwsReader, name: str) -> Iterator[Finding]:
    """Check the keys of one site's volumes: the key of its image's snapshots, and the region's default."""
    place = share.places[name]
    region, at = place.site.region, share.at("sites", name, "image")
    roles = [SERVICE_ROLE, *([SPOT_ROLE] if any(pool.spot for pool in place.pools.values()) else [])]
    keys = _customer_keys(reader, place.site)
    if not keys:
        yield ok(f"AWS {region}: AWS's own key encrypts the volumes", at)
    for key in keys:
        if key.state != "Enabled":
            wrong = f"AWS {region}: the volumes' key {key.arn} is {key.state}"
            yield problem(wrong, at, do="enable it, or bake the image with another key")
            continue
        caller = reader.caller(region)
        arns = [_role_arn(caller, role) for role in roles]
        if key.account != caller.account:
            yield from (_grant(reader, region, key, arn, at) for arn in arns)
            continue
        try:
            for arn in arns:
                yield _admission(reader, region, key, arn, at)
        except NotAskedError as error:
            do = f"read it at the key's owner: it has to admit what {PAGE}, lists"
            yield unknown(f"AWS {region}: the policy of the volumes' key {key.arn}: {error}", at, do=error.do or do)


def _customer_keys(reader: AwsReader, site: AwsSite) -> list[_Key]:
    """Return the keys that AWS does not manage, by EC2's ``GetEbsDefaultKmsKeyId``, ``DescribeImages`` and
    ``DescribeSnapshots``, and KMS's ``DescribeKey``."""
    ec2, kms = reader.client("ec2", site.region), reader.client("kms", site.region)
    with reader_errors("the default key of volumes", needs="ec2:GetEbsDefaultKmsKeyId"):
        default = str(ec2.get_ebs_default_kms_key_id()["KmsKeyId"])
    with reader_errors("the image's snapshots", needs="ec2:DescribeImages, ec2:DescribeSnapshots"):
        images = ec2.describe_images(Filters=[{"Name": "image-id", "Values": [site.image]}])["Images"]
        ids = [
            mapping["Ebs"]["SnapshotId"]
            for image in images
            for mapping in image.get("BlockDeviceMappings", [])
            if mapping.get("Ebs", {}).get("SnapshotId")
        ]
        snapshots = ec2.describe_snapshots(SnapshotIds=ids)["Snapshots"] if ids else []
    used = dict.fromkeys([default, *(str(snapshot["KmsKeyId"]) for snapshot in snapshots if snapshot.get("KmsKeyId"))])
    keys: dict[str, _Key] = {}
    for key_id in used:
        if key_id.endswith("alias/aws/ebs"):
            continue
        needs = f"kms:DescribeKey, for a key of another account in its policy, too ({PAGE})"
        with reader_errors(f"the key {key_id}", needs=needs):
            metadata = kms.describe_key(KeyId=key_id)["KeyMetadata"]
        if metadata.get("KeyManager") != "AWS":
            arn = str(metadata["Arn"])
            keys[arn] = _Key(arn=arn, state=str(metadata.get("KeyState")))
    return list(keys.values())


def _admission(reader: AwsReader, region: str, key: _Key, arn: str, at: str) -> Finding:
    """Judge whether a key admits a role, by its policy (``GetKeyPolicy``) and its grants (``ListGrants``)."""
    kms = reader.client("kms", region)
    with reader_errors("the policy", needs="kms:GetKeyPolicy"):
        policy = json.loads(kms.get_key_policy(KeyId=key.arn, PolicyName="default")["Policy"])
    request = RoleRequest(role=arn, key=key.arn, region=region)
    answers = {operation: judge(policy, request, f"kms:{operation}") for operation in OPERATIONS}
    title, what = arn.rpartition("/")[2], f"AWS {region}: the volumes' key {key.arn}"
    lacking = [operation for operation, answer in answers.items() if answer is not KeyAdmission.ALLOWED]
    if lacking:
        granted = _granted(kms, key, arn)
        lacking = [operation for operation in lacking if operation not in granted]
    missing, open_ = (
        [f"kms:{operation}" for operation in lacking if answers[operation] is answer]
        for answer in (KeyAdmission.REFUSED, KeyAdmission.CONDITIONAL)
    )
    if missing:
        wrong = f"{what} does not allow {title} {', '.join(missing)}, so no machine starts"
        return problem(wrong, at, do=f"the statements of {PAGE}, in the key's policy; and none that denies it")
    if open_:
        unclear = f"{what} allows {title} {', '.join(open_)} under conditions that are not judged here"
        return unknown(unclear, at, do=f"compare them with the statements of {PAGE}")
    if is_open(policy):
        wide = f"{what} admits everybody in every account: a statement for the principal * has no condition"
        return warning(wide, at, do=f"the statements of {PAGE}, instead of that one")
    return ok(f"{what} admits {title}", at)


def _grant(reader: AwsReader, region: str, key: _Key, arn: str, at: str) -> Finding:
    """Judge whether grants of another account's key admit a role. The key's policy cannot be read from here (KMS API,
    ``GetKeyPolicy``: "Cross-account use: No"), and does not matter to the role: statements for an account leave the
    decision to the role's own policies. The grants can be read where the policy allows it (``ListGrants``)."""
    title = arn.rpartition("/")[2]
    command = (
        f"in this account: aws kms create-grant --region {region} --key-id {key.arn} --grantee-principal {arn} "
        f"--operations {' '.join(OPERATIONS)} ({PAGE})"
    )
    try:
        granted = _granted(reader.client("kms", region), key, arn)
    except NotAskedError as error:
        what = f"whether a grant of the volumes' key {key.arn}, of another account, admits {title}: {error}"
        return unknown(f"AWS {region}: {what}", at, do=f"{command}, if nobody did")
    missing = [operation for operation in OPERATIONS if operation not in granted]
    if missing:
        wrong = f"AWS {region}: no grant of the volumes' key {key.arn}, of another account, allows {title} "
        return problem(f"{wrong}{', '.join(missing)}, so no machine starts", at, do=command)
    return ok(f"AWS {region}: a grant of the volumes' key {key.arn}, of another account, admits {title}", at)


def _granted(kms: Any, key: _Key, arn: str) -> set[str]:
    """Return the operations that grants of a key allow a role."""
    with reader_errors("the grants", needs="kms:ListGrants"):
        grants = kms.list_grants(KeyId=key.arn, GranteePrincipal=arn)["Grants"]
    return {str(operation) for grant in grants for operation in grant.get("Operations", [])}


def _role_arn(caller: Caller, role: str) -> str:
    """Return the ARN of a role of the caller's account."""
    return f"arn:{caller.arn.split(':')[1]}:iam::{caller.account}:role/{role}"
