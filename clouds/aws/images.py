"""Images of machines in AWS."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clouds.aws import session
from clouds.aws.site import AwsSite
from clouds.base.errors import CloudError
from clouds.base.images import BakeOptions, MachineImages, Recipe
from clouds.base.place import Place

PLACEHOLDER = "ami-" + 17 * "0"
"""Image id that no image has."""

_SUBNET = re.compile(r"subnet-[0-9a-f]{8,17}")


class AwsMachineImages(MachineImages[AwsSite]):
    """Images that machines in AWS boot."""

    def is_placeholder(self, site: AwsSite) -> bool:
        """Return whether the image id in a site's section is the placeholder."""
        return site.image == PLACEHOLDER

    def placeholder(self, account: str, *, kind: str) -> str:
        """Return the placeholder id, which is the same for all accounts and kinds."""
        return PLACEHOLDER

    def recipe(self, place: Place[AwsSite], asked: BakeOptions, version: str) -> Recipe:
        """Return the settings with which Packer bakes the image. Raise ``ValueError`` when an option cannot be used."""
        if asked.subnet and not _SUBNET.fullmatch(asked.subnet):
            raise ValueError(f"--subnet {asked.subnet}: on AWS the subnet's id, subnet-…")
        if asked.base and not asked.base.startswith("ami-"):
            raise ValueError(f"--base {asked.base}: on AWS the id of one of Ubuntu's images, ami-…")
        return Recipe(builder="amazon-ebs", machine_type="m7i.xlarge", image="", variables={})

    def credentials(self, environ: Mapping[str, str], *, needed: bool) -> dict[str, str]:
        """Return no variables, because Packer's plugin finds AWS credentials itself. Raise ``CloudError`` when they are
        ``needed`` and there are none."""
        if not needed:
            return {}
        with session.aws_errors("no AWS credentials"):
            keys = session.shared().signed_in()
        if not keys:
            raise CloudError("no AWS credentials: sign in (`aws sso login`), or set AWS_PROFILE or AWS_ACCESS_KEY_ID …")
        return {}

    def leftovers(self, name: str, image: str, variables: Mapping[str, Any]) -> list[str]:
        """Return commands that show what a killed bake left behind."""
        region = variables["region"]
        tagged = f"--filters Name=tag:longhaul-bake,Values={name}"
        return [
            f"aws ec2 describe-instances --region {region} {tagged}   # then: aws ec2 terminate-instances",
            f"aws ec2 describe-security-groups --region {region} {tagged}   # then: aws ec2 delete-security-group",
            f"aws ec2 describe-images --region {region} --owners self --filters Name=name,Values={name}",
        ]
