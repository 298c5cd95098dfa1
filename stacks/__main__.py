"""Program of an environment's two stacks: load the configuration, declare resources, export outputs."""

from pathlib import Path

import pulumi
from pulumi.runtime import register_stack_transformation

from components.environment.lean_sdk import forget_versions, lean, wait_once
from components.guards.policies import enforcing
from components.model import load, plan
from components.model.loading.load import check_neighbours
from contract.project import OBJECTS

STACKS = Path(__file__).resolve().parent


def main() -> None:
    """Declare the resources of the selected stack."""
    config, stack = pulumi.Config("longhaul"), pulumi.get_stack()
    if name := config.get("objects-of"):
        from components.objects.cluster import declare

        if stack != f"{name}{OBJECTS}":
            raise pulumi.RunError(f"the stack {stack} is not the one of what runs on the cluster of {name}")
        environment = load(STACKS / f"Pulumi.{name}.yaml")
        register_stack_transformation(enforcing(environment))
        declare(environment, folder=STACKS)
        return
    from components.control_plane.guard import confirmed
    from components.control_plane.hooks import machine_hooks
    from components.environment.cluster import Cluster
    from components.guards.immutable import keeps

    source = STACKS / f"Pulumi.{stack}.yaml"
    # Loaded from the file: the engine's configuration sorts keys, and sites get their blocks in the file's order.
    environment = load(source)
    if environment.destroyable and confirmed(environment.name):
        # The engine deletes what the state holds; of the program it needs only the hooks that it looks up by name.
        machine_hooks(environment, plan(environment))
        keeps(environment)
        return
    check_neighbours(environment, source=source)
    register_stack_transformation(enforcing(environment))
    for output, value in Cluster(environment).outputs.items():
        pulumi.export(output, value)


with lean():
    forget_versions()
    main()
    wait_once()
