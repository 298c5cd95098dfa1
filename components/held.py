"""What is in use is neither changed nor lost by accident, whoever runs the engine.

Two guards beside those of ``components/control_plane/guard.py``:

- a resource that remembers the address plan and the places of what is there. It comes before everything else, and
  refuses to be told otherwise: the run ends with nothing touched;
- a hook before the deletion of what cannot be made again: the vault, what holds it, networks of sites that stay.

Neither is the engine's ``protect``, which would forbid whatever replaces a resource and be in the way of a removal
that is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pulumi
from pulumi import (
    ComponentResource,
    ProviderResource,
    ResourceHook,
    ResourceHookArgs,
    ResourceHookBinding,
    ResourceOptions,
    ResourceTransformation,
    ResourceTransformationArgs,
    ResourceTransformationResult,
)
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from clouds.base.kinds import Lasting
from clouds.base.tagging import SITE
from clouds.registry import clouds
from components.control_plane.guard import confirmed
from components.control_plane.turn import RefusedError
from components.model import AddressPlan, Environment
from components.model.held import Facts, changes, facts, instead

_KEY_TYPE = "pulumi-python:dynamic/longhaul:Secret"


@cache
def lasting() -> Mapping[str, Lasting]:
    """Types whose resources are not deleted while the environment is in use: the vault's secrets, and those of each
    cloud."""
    own = {_KEY_TYPE: Lasting(why="the vault's copy of it is the only one")}
    return {**own, **{type_: why for cloud in clouds().values() for type_, why in cloud.resources.lasting().items()}}


class HeldProvider(ResourceProvider):
    """Remembers facts, and forgets only those of what is no longer in the file."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Nothing to make; what is remembered first is what the file says then."""
        return CreateResult(id_=str(props["environment"]), outs=props)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        """Changes are remembered, or refused, in place: a preview shows them."""
        names = ("environment", "facts")
        return DiffResult(changes=any(olds.get(name) != news.get(name) for name in names), replaces=[])

    def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        """``RefusedError`` when something that stays in the file would be another."""
        check(str(news["environment"]), olds.get("facts") or {}, news["facts"])
        return UpdateResult(outs=news)


class Held(Resource, module="longhaul", name="Held"):
    """Comes before everything and refuses changes of what is in use."""

    def __init__(self, name: str, *, environment: str, facts: Facts, opts: ResourceOptions | None = None) -> None:
        properties: dict[str, pulumi.Input[object]] = {"environment": environment, "facts": dict(facts)}
        super().__init__(HeldProvider(), name, properties, opts)


def check(environment: str, before: Facts, after: Facts) -> None:
    """``RefusedError`` when a fact that both have is another."""
    found = changes(before, after)
    if found:
        lines = [
            f"{environment} must stay as it is, and nothing was touched: its file changes what is in use.",
            *(f"  {one}" for one in found),
            " ".join(["Take that back.", *instead(found), "See docs/guards.md."]),
        ]
        raise RefusedError("\n".join(lines))


def keeps(environment: Environment) -> ResourceHookBinding:
    """The hook before the deletion of what lasts. One for all, since the engine looks it up by its name when it deletes
    what the program no longer declares."""

    def before_delete(args: ResourceHookArgs) -> None:
        check_deletion(environment, type_=args.type, name=args.name, inputs=args.old_inputs or {})

    return ResourceHookBinding(before_delete=[ResourceHook(f"{environment.name}-keeps-what-lasts", before_delete)])


def check_deletion(environment: Environment, *, type_: str, name: str, inputs: Mapping[str, Any]) -> None:
    """``RefusedError`` unless what lasts goes with its site, or with the whole environment."""
    if environment.destroyable and confirmed(environment.name):
        return
    site = (inputs.get("tags") or {}).get(SITE)
    stays = lasting().get(type_, Lasting(why="it is in use"))
    if stays.with_site and site is not None and site not in environment.sites:
        return
    goes = "A site goes, with all it has, when it is taken out of the file. " if stays.with_site else ""
    # The first line alone is shown beside the resource, all of it at the end.
    raise RefusedError(
        f"{name} must stay: {stays.why}.\n"
        f"Take back what deletes or replaces it (`longhaul plan --env {environment.name}` shows what does). {goes}"
        f"A whole environment goes by `longhaul destroy --env {environment.name}`. See docs/guards.md."
    )


def holding(environment: Environment, addresses: AddressPlan) -> ResourceOptions:
    """Options under which everything below waits for the facts to be agreed on, and what lasts is guarded."""
    held = Held(f"{environment.name}-held", environment=environment.name, facts=facts(environment, addresses))
    return ResourceOptions(transformations=[_after(held, keeps(environment))])


def _after(held: Held, kept: ResourceHookBinding) -> ResourceTransformation:
    """In one place for all: what is added to the program is guarded without a word there."""
    later = ResourceOptions(depends_on=[held])
    guarded = ResourceOptions(depends_on=[held], hooks=kept)

    def transformation(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
        if isinstance(args.resource, ComponentResource | ProviderResource):
            return None
        more = guarded if args.type_ in lasting() else later
        return ResourceTransformationResult(args.props, ResourceOptions.merge(args.opts, more))

    return transformation
