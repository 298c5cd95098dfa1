"""One environment, from its stack's configuration: load, build, export."""

import gc
from pathlib import Path

import pulumi

from components.cluster import Cluster
from components.control_plane import member_guards
from components.guard import confirmed
from components.model import parse, plan
from components.model.load import check_neighbours

STACKS = Path(__file__).resolve().parent


def main() -> None:
    """Build the environment that the selected stack configures."""
    # Hundreds of thousands of small objects live until the end, and the collector goes through them again and again.
    gc.disable()
    stack = pulumi.get_stack()
    source = STACKS / f"Pulumi.{stack}.yaml"
    environment = parse(pulumi.Config("longhaul").require_object("environment"), source=source, stack=stack)
    if environment.destroyable and confirmed(environment.name):
        # The engine deletes what the state holds; of the program it needs only the hooks that it looks up by name.
        member_guards(environment, plan(environment))
        return
    check_neighbours(environment, source=source)
    for name, value in Cluster(environment).outputs.items():
        pulumi.export(name, value)


main()
