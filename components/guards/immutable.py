"""Guards that keep what is in use from being changed or lost by accident, regardless of who runs the engine.

Two guards, in addition to those of ``components/control_plane/guard.py``:

- a resource that records the immutable settings: the address plan and the places of existing parts. It comes before
  everything else and refuses changes: the run ends with nothing touched;
- a hook before the deletion of resources that cannot be made again: the vault, what contains it, networks of sites that
  stay.

Neither uses the engine's ``protect``, which would forbid every replacement and would block intended removals too.
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

from clouds.base.resource_types import Lasting
from clouds.registry import clouds
from components.control_plane.guard import confirmed
from components.control_plane.replacement import GuardRefusedError
from components.model import AddressPlan, Environment
from components.model.policy.immutable import Settings, changes, instead, settings
from contract.tag_keys import SITE

_KEY_TYPE = "pulumi-python:dynamic/longhaul:Secret"


@cache
def lasting() -> Mapping[str, Lasting]:
    """Return the types whose resources are not deleted while the environment is in use: the vault's secrets, and the
    lasting types of each cloud."""
    common = {_KEY_TYPE: Lasting(why="the vault's copy of it is the only one")}
    return {**common, **{type_: why for cloud in clouds().values() for type_, why in cloud.resources.lasting().items()}}


class ImmutableProvider(ResourceProvider):
    """Records immutable settings, and removes settings only of parts that are no longer in the file."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> CreateResult:
        """Record the settings of a new environment."""
        return CreateResult(id_=str(props["environment"]), outs=props)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        """Report changes as an update in place, so that a preview shows them. The update records or refuses them."""
        names = ("environment", "facts")
        return DiffResult(changes=any(olds.get(name) != news.get(name) for name in names), replaces=[])

    def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        """Record the new settings; raise ``GuardRefusedError`` when an immutable setting would change."""
        check(str(news["environment"]), olds.get("facts") or {}, news["facts"])
        return UpdateResult(outs=news)


class ImmutableSettings(Resource, module="longhaul", name="Held"):
    """Resource that comes before everything else and refuses changes of immutable settings."""

    def __init__(self, name: str, *, environment: str, facts: Settings) -> None:
        properties: dict[str, pulumi.Input[object]] = {"environment": environment, "facts": dict(facts)}
        super().__init__(ImmutableProvider(), name, properties)


def check(environment: str, before: Settings, after: Settings) -> None:
    """Raise ``GuardRefusedError`` when an immutable setting differs between ``before`` and ``after``."""
    changed = changes(before, after)
    if changed:
        lines = [
            f"{environment} must stay as it is, and nothing was touched: its file changes settings in use.",
            *(f"  {change}" for change in changed),
            " ".join(["Take that back.", *instead(changed), "See docs/guards.md."]),
        ]
        raise GuardRefusedError("\n".join(lines))


def keeps(environment: Environment) -> ResourceHookBinding:
    """Return the hook that runs before the deletion of resources that must stay. There is one hook for all, because the
    engine looks it up by name when it deletes what the program no longer declares."""

    def before_delete(args: ResourceHookArgs) -> None:
        check_deletion(environment, type_=args.type, name=args.name, inputs=args.old_inputs or {})

    return ResourceHookBinding(before_delete=[ResourceHook(f"{environment.name}-keeps-what-lasts", before_delete)])


def check_deletion(environment: Environment, *, type_: str, name: str, inputs: Mapping[str, Any]) -> None:
    """Raise ``GuardRefusedError`` unless the resource is deleted together with its site or the learner, or with the
    whole environment."""
    if environment.destroyable and confirmed(environment.name):
        return
    site = (inputs.get("tags") or {}).get(SITE)
    stays = lasting().get(type_, Lasting(why="it is in use"))
    if stays.with_site and site is not None and site not in environment.sites:
        return
    if stays.with_learner and environment.control_plane.etcd.learner is None:
        return
    goes = "A site is deleted, with everything in it, when it is removed from the file. " if stays.with_site else ""
    goes += "It is deleted when the learner is removed from the file. " if stays.with_learner else ""
    # The engine shows only the first line beside the resource, and all lines at the end.
    raise GuardRefusedError(
        f"{name} must stay: {stays.why}.\n"
        f"Undo the change that deletes or replaces it (`longhaul plan --env {environment.name}` shows it). {goes}"
        f"A whole environment is removed by `longhaul destroy --env {environment.name}`. See docs/guards.md."
    )


def holding(environment: Environment, addresses: AddressPlan) -> ResourceOptions:
    """Return options under which every resource waits for the check of immutable settings, and resources that must stay
    are guarded."""
    recorded = ImmutableSettings(
        f"{environment.name}-held", environment=environment.name, facts=settings(environment, addresses)
    )
    return ResourceOptions(transformations=[_after(recorded, keeps(environment))])


def _after(recorded: ImmutableSettings, kept: ResourceHookBinding) -> ResourceTransformation:
    """Return the transformation that applies both guards. It covers every resource, so that new parts of the program
    are guarded without code of their own."""
    later = ResourceOptions(depends_on=[recorded])
    guarded = ResourceOptions(depends_on=[recorded], hooks=kept)

    def transformation(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
        if isinstance(args.resource, ComponentResource | ProviderResource):
            return None
        more = guarded if args.type_ in lasting() else later
        return ResourceTransformationResult(args.props, ResourceOptions.merge(args.opts, more))

    return transformation
