"""Steps between versions, and kubelets that API servers serve."""

from __future__ import annotations

import pytest

from components.model import load
from components.model.versions.section import Versions
from components.model.versions.steps import image_faults, is_taken_back, step_refused
from tests.support.hosts import stack_file


@pytest.mark.parametrize(
    ("release", "running", "wanted", "why"),
    [
        ("kubernetes", {"1.36.4"}, "1.36.4", ""),
        ("kubernetes", {"1.36.4"}, "1.36.9", ""),
        ("kubernetes", {"1.36.4"}, "1.36.2", ""),
        ("kubernetes", {"1.36.4"}, "1.37.2", ""),
        ("kubernetes", {"1.9.0"}, "1.10.0", ""),
        ("kubernetes", {"1.36.4", "1.37.2"}, "1.37.2", ""),
        ("kubernetes", {"1.36.4", "1.37.2"}, "1.36.4", ""),
        ("kubernetes", {"1.36.4"}, "1.38.0", "one minor version at a time; machines run 1.36.4"),
        ("kubernetes", {"1.36.4", "1.37.2"}, "1.38.0", "machines run 1.36.4"),
        ("kubernetes", {"1.36.4"}, "2.0.0", "one minor version at a time"),
        ("kubernetes", {"1.37.2"}, "1.36.4", "cannot return"),
        ("kubernetes", {"1.36.4", "1.37.2"}, "1.35.9", "cannot return"),
        ("etcd", {"3.6.11"}, "3.7.0", ""),
        ("etcd", {"3.6.8"}, "3.6.11", ""),
        ("etcd", {"3.6.8"}, "3.7.0", "all machines run 3.6.11 or later, and some run 3.6.8"),
        ("etcd", {"3.6.8", "3.6.11"}, "3.7.0", "some run 3.6.8"),
        ("etcd", {"3.6.11", "3.7.0"}, "3.6.11", ""),
        ("etcd", {"3.7.0"}, "3.6.11", "version has risen"),
        ("etcd", {"3.5.30"}, "3.7.0", "one minor version at a time"),
    ],
)
def test_a_step_is_one_that_is_supported(release: str, running: set[str], wanted: str, why: str) -> None:
    refused = step_refused(release, running, wanted)
    assert (refused is None) is not why
    assert refused is None or (why in refused.why and refused.do)


@pytest.mark.parametrize(
    ("running", "wanted", "back"),
    [
        ({"3.6.11", "3.7.0"}, "3.6.11", True),
        ({"3.6.11", "3.7.0"}, "3.7.0", False),
        ({"3.7.0"}, "3.6.11", False),
        ({"3.6.8", "3.6.11"}, "3.6.8", False),
    ],
)
def test_an_upgrade_is_taken_back_while_some_machines_still_run_what_was_before(
    running: set[str], wanted: str, back: bool
) -> None:
    assert is_taken_back(running, wanted) is back


@pytest.mark.parametrize(
    ("kubelet", "wanted", "wrong"),
    [
        ("1.36.4", "1.36.4", ""),
        ("1.36.9", "1.36.4", ""),
        ("1.33.0", "1.36.4", ""),
        ("1.32.9", "1.36.4", "more than 3 minor versions older"),
        ("1.37.0", "1.36.4", "newer"),
    ],
)
def test_a_kubelet_is_never_newer_and_three_minor_versions_older_at_most(kubelet: str, wanted: str, wrong: str) -> None:
    environment = load(stack_file("lab")).model_copy(update={"versions": Versions(kubernetes=wanted)})
    # weu has no pool: its image is the control plane's alone.
    faults = list(image_faults(environment, {"use1": {"kubernetes": kubelet}, "weu": {"kubernetes": "1.1.1"}}))
    assert [one.at for one in faults] == ([("sites", "use1", "image")] if wrong else [])
    assert all(
        f"{kubelet}, which API servers of {wanted} do not support, for cpu: it is {wrong}" in e.wrong for e in faults
    )
