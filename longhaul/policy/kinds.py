"""The kinds of resources that more than one theme looks at, by the SDKs' type tokens."""

from __future__ import annotations

from typing import Final

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
