"""The node controller's document of the environment, as a ConfigMap that the controller watches."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import ConfigMap

from components.model import AddressPlan, Environment
from components.objects.object_metadata import meta
from components.render.node_controller_document import environment_document
from contract.documents.node_controller import CONFIGMAP, KEY
from contract.object_names import SYSTEM_NAMESPACE

PART = "environment"


@dataclass(frozen=True, kw_only=True)
class EnvironmentDocumentArgs:
    """Arguments of the document."""

    environment: Environment
    addresses: AddressPlan
    aws_role_arn: pulumi.Output[str | None]
    """ARN of the role with which the controller reads AWS; ``None`` without AWS."""


class EnvironmentDocument(ComponentResource):
    """The document: sites, pools and racks. It contains no secret."""

    def __init__(self, name: str, args: EnvironmentDocumentArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:EnvironmentDocument", name, None, opts)
        document = args.aws_role_arn.apply(
            lambda role: environment_document(args.environment, args.addresses, aws_role_arn=role)
        )
        ConfigMap(
            CONFIGMAP,
            metadata=meta(CONFIGMAP, part=PART, namespace=SYSTEM_NAMESPACE),
            data={KEY: document},
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({})
