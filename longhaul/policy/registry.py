"""Every rule there is, theme by theme."""

from __future__ import annotations

from collections.abc import Mapping

from longhaul.policy import azure_roles, encryption, exposure, identity, ingress, metadata, secrets, stores, tags
from longhaul.policy.rule import Rule

THEMES: Mapping[str, tuple[Rule, ...]] = {
    "At the internet": exposure.RULES + ingress.RULES,
    "Vaults, storage accounts and buckets": stores.RULES,
    "Encryption": encryption.RULES,
    "Instance metadata": metadata.RULES,
    "Who may do what": identity.RULES + azure_roles.RULES,
    "Secrets": secrets.RULES,
    "Tags": tags.RULES,
}
"""Rules by what they are about, in the order of docs/policy.md."""

RULES: tuple[Rule, ...] = tuple(rule for rules in THEMES.values() for rule in rules)
