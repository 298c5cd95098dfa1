"""The metadata service of instances: tokens only, and no further than the instance itself."""

from __future__ import annotations

from collections.abc import Iterator

from longhaul.policy.declared import Declared
from longhaul.policy.resource import INSTANCE, LAUNCH_TEMPLATE, Resource
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.values import at, shown


def _applies(resource: Resource) -> bool:
    """Not where the service is off, nor where an instance takes the options of its template."""
    if at(resource.inputs, "metadataOptions.httpEndpoint") == "disabled":
        return False
    from_template = resource.kind == INSTANCE and resource.inputs.get("launchTemplate")
    return not (from_template and resource.inputs.get("metadataOptions") is None)


def _tokens(resource: Resource, _: Declared) -> Iterator[Fault]:
    tokens = at(resource.inputs, "metadataOptions.httpTokens")
    if _applies(resource) and tokens != "required":
        yield Fault(what=f"metadataOptions.httpTokens is {shown(tokens)}", write="httpTokens: required")


def _hops(resource: Resource, _: Declared) -> Iterator[Fault]:
    hops = at(resource.inputs, "metadataOptions.httpPutResponseHopLimit")
    if _applies(resource) and hops != 1:
        yield Fault(
            what=f"metadataOptions.httpPutResponseHopLimit is {shown(hops)}", write="httpPutResponseHopLimit: 1"
        )


_KINDS = frozenset({INSTANCE, LAUNCH_TEMPLATE})

RULES = (
    Rule(
        id="imdsv2",
        reason="Instance metadata answers to tokens only: else a forged request reads the role's credentials.",
        source="CIS AWS v5.0.0, 5.7; AWS Security Hub EC2.8 and EC2.170",
        kinds=_KINDS,
        look=_tokens,
    ),
    Rule(
        id="metadata-hop-limit",
        reason="Metadata goes one hop, the instance's own: a pod, a hop further, must not take its identity.",
        source="AWS Security Hub AutoScaling.4; components/aws/pools.py",
        kinds=_KINDS,
        look=_hops,
    ),
)
