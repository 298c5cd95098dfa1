"""Every field of the environment file says what a change of it replaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic.fields import FieldInfo

from clouds.base.replaces import Replaces
from clouds.base.section import Section
from clouds.registry import clouds
from components.model import load
from components.model.environment import Environment
from components.model.policy.replacement_lookup import replaced_by
from tests.support.hosts import stack_file


def sections(annotation: Any) -> Iterator[type[Section]]:
    """Yield every section in a field's type; for a site, those of all clouds."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from sections(inner)


def marked(field: FieldInfo) -> bool:
    return any(isinstance(one, Replaces) for one in field.metadata)


def bare(section: type[Section]) -> Iterator[str]:
    """Yield the fields of a section, and of those in it, that neither have an annotation nor inherit one."""
    for name, field in section.model_fields.items():
        if marked(field):
            continue
        inner = list(sections(field.annotation))
        if not inner:
            yield f"{section.__name__}.{name}"
        for one in inner:
            yield from bare(one)


def test_every_field_has_an_annotation_or_inherits_one() -> None:
    assert list(bare(Environment)) == []
    sites = set(sections(Environment.model_fields["sites"].annotation))
    assert sites >= {cloud.site_type for cloud in clouds().values()}


def test_a_field_without_one_is_found() -> None:
    class Inner(Section):
        told: int
        """Nothing."""

    class Outer(Section):
        inner: Inner
        """Nothing."""

    assert list(bare(Outer)) == ["Inner.told"]


@pytest.mark.parametrize(
    ("path", "replaces"),
    [
        ("pools.h100.spot", Replaces.NEW_NODES),
        ("pools.h100.labels.example.com/team", Replaces.NEW_NODES),
        ("pools.h100.reservation.id", Replaces.NEW_NODES),
        ("pools.h100.taints[nvidia.com/gpu].effect", Replaces.NEW_NODES),
        ("pools.nobody.spot", Replaces.STATE),
        ("sites.weu.image", Replaces.SITE),
        ("hosts.gpu-01.quarantined", Replaces.STATE),
        ("control_plane.etcd.machine_type", Replaces.ROLE),
        ("control_plane.etcd.learner.zone", Replaces.LEARNER),
        ("control_plane.sync_limits.p99_ms", Replaces.ETCD | Replaces.EVENTS),
        ("tags.owner", Replaces.NOTHING),
        ("pod_security.exempt_namespaces", Replaces.API),
        ("nothing.of.ours", Replaces.STATE),
    ],
)
def test_a_key_has_the_annotation_nearest_to_it(path: str, replaces: Replaces) -> None:
    assert replaced_by(load(stack_file("prod")), path) is replaces
