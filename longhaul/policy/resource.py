"""One resource as a preview has it: what it is and what its cloud would be asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

INSTANCE: Final = "aws:ec2/instance:Instance"
LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
VIRTUAL_MACHINE: Final = "azure-native:compute:VirtualMachine"
SCALE_SET: Final = "azure-native:compute:VirtualMachineScaleSet"
STORAGE_ACCOUNT: Final = "azure-native:storage:StorageAccount"
VAULT: Final = "azure-native:keyvault:Vault"
BUCKET_POLICY: Final = "aws:s3/bucketPolicy:BucketPolicy"
ROLE: Final = "aws:iam/role:Role"
AWS_BALANCER: Final = "aws:lb/loadBalancer:LoadBalancer"
AZURE_BALANCER: Final = "azure-native:network:LoadBalancer"
"""Kinds that more than one theme looks at, by the SDKs' type tokens."""

_VERSION = re.compile(r"/v\d+\w*(?=:)")
"""A version of Azure's interface inside a type's token, such as that of `azure-native:network/v20240101:Subnet`."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource that a program declares, with its inputs as the engine writes them."""

    urn: str
    type: str
    """The type's token, such as ``aws:ec2/instance:Instance``."""
    name: str
    """The URN's last part."""
    inputs: Mapping[str, Any]
    """Properties in the engine's spelling. What is not known before something is made, and what is secret, is as
    :mod:`longhaul.policy.values` says."""

    @property
    def kind(self) -> str:
        """The type, whichever version of its cloud's interface it names."""
        return _VERSION.sub("", self.type)
