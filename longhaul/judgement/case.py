"""Input of the judges: the environment before and after a change, and what the engine would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.model import Environment
from longhaul.judgement.capacity import CapacityRow
from longhaul.judgement.changes import Change
from longhaul.judgement.deprecated_apis import Ask, no_cluster
from longhaul.judgement.environment_parts import EnvironmentParts


@dataclass(frozen=True, kw_only=True)
class Case:
    """Input of a judgement."""

    after: Environment
    before: Environment | None
    """The environment from the earlier file, else from the state; None when neither exists."""
    base: Environment | None
    """The environment from the earlier file alone; None without that file."""
    changes: tuple[Change, ...]
    places: EnvironmentParts
    rows: tuple[CapacityRow, ...]
    max_removed: float
    """Share of the nodes that may be removed at once, 0 to 1."""
    images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Versions in each site's image, by site and release, for images whose manifest is in the checkout."""
    apis: Ask = no_cluster
    """Asks the API servers which deprecated APIs are in use."""
    stateless: bool = False
    """True when there is no state. Then only the earlier file, if given, shows what existed before."""
