"""A pool on Azure, declared with production's component, in a subnet that the scenario made."""

from pathlib import Path

import pulumi

from components.azure.pools import AzurePool, AzurePoolArgs
from components.model.loading.load import load
from components.model.sites.cloud_names import pool_groups

config = pulumi.Config()
environment = load(Path(__file__).parent / "environment" / "Pulumi.pools.yaml")
AzurePool(
    "pools-gpu",
    AzurePoolArgs(
        environment=environment,
        pool_name="gpu",
        resource_group="pools-weu",
        subnet_id=config.require("subnet"),
        custom_data={group.name: config.get("data") or "one" for group in pool_groups(environment, "gpu")},
        tags={"team": config.get("team") or "a"},
    ),
)
