"""The pools' join tokens, as the API server knows them (kubernetes.io, "Authenticating with Bootstrap Tokens")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_kubernetes.core.v1 import Secret

from components.objects.labels import SYSTEM, meta
from components.objects.rbac import BOOTSTRAPPERS

PART = "join-tokens"
POOL = "longhaul.dev/pool"
"""Annotation that says which pool's machines may join with a token; the node controller asks for it."""


@dataclass(frozen=True, kw_only=True)
class JoinTokensArgs:
    """Which pools join, with what."""

    pools: Iterable[str]
    tokens: pulumi.Output[Mapping[str, str]]
    """The token of each pool; secret."""


class JoinTokens(ComponentResource):
    """One Secret for each pool. They have no end: a machine that is added in weeks still finds its token in its
    user-data, and alone it opens nothing but the request for a certificate."""

    def __init__(self, name: str, args: JoinTokensArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:JoinTokens", name, None, opts)
        for pool in args.pools:
            token = args.tokens.apply(partial(_parts, pool))
            # The first half is a name, which the engine may show.
            identity = Output.unsecret(token.apply(lambda parts: parts[0]))
            Secret(
                f"join-{pool}",
                metadata=meta(
                    Output.concat("bootstrap-token-", identity),
                    part=PART,
                    namespace=SYSTEM,
                    annotations={POOL: pool},
                ),
                type="bootstrap.kubernetes.io/token",
                string_data={
                    "token-id": identity,
                    "token-secret": token.apply(lambda parts: parts[1]),
                    "usage-bootstrap-authentication": "true",
                    "auth-extra-groups": BOOTSTRAPPERS,
                    "description": f"Machines of pool {pool}",
                },
                opts=ResourceOptions(parent=self),
            )
        self.register_outputs({})


def _parts(pool: str, tokens: Mapping[str, str]) -> tuple[str, str]:
    """Id and secret of a pool's token."""
    if pool not in tokens:
        raise ValueError(
            f"pool {pool} has no join token: bring up the infrastructure first (`longhaul up --only infrastructure`)"
        )
    identity, _, rest = tokens[pool].partition(".")
    return identity, rest
