"""Nothing of a team runs past its queue, whatever its people write."""

from __future__ import annotations

import pytest

from tests.redteam.team_cluster import GPUS, TEAM, TeamCluster
from tests.support.api_server import eventually
from tests.support.queues import jobset
from tests.support.teams import pod

pytestmark = pytest.mark.engine


def test_a_jobset_within_the_quota_is_free_to_be_scheduled_and_another_waits(cluster: TeamCluster) -> None:
    ada, spec = cluster.person(), pod("a", gpus=GPUS)["spec"]
    ada.made(jobset("first", {"w": 1}, spec, where=TEAM), dry=False)
    eventually(lambda: cluster.free_gpus() == GPUS, what="the set is admitted")
    ada.made(jobset("second", {"w": 1}, spec, where=TEAM), dry=False)
    eventually(lambda: cluster.waiting() == ["jobset-second"], what="the second one queues")
    assert cluster.free_gpus() == GPUS
