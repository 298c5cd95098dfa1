"""Drills by name."""

from __future__ import annotations

from collections.abc import Mapping

from lab.drill.drill import Drill
from lab.drill.faults import partitions, services

_ALL = (
    Drill(
        name="follower-killed",
        summary="kill -9 of a follower of the main etcd cluster",
        goal_s=1.0,
        fault=services.follower_killed,
    ),
    Drill(
        name="leader-killed",
        summary="kill -9 of the leader of the main etcd cluster",
        goal_s=5.0,
        fault=services.leader_killed,
    ),
    Drill(
        name="leader-paused",
        summary="the leader of the main etcd cluster stands still",
        goal_s=5.0,
        fault=services.leader_paused,
        lasts_s=15.0,
    ),
    Drill(
        name="follower-cut-off",
        summary="a follower of the main etcd cluster is cut off",
        goal_s=10.0,
        fault=partitions.follower_cut_off,
        lasts_s=20.0,
    ),
    Drill(
        name="leader-cut-off",
        summary="the leader of the main etcd cluster is cut off",
        goal_s=10.0,
        fault=partitions.leader_cut_off,
        lasts_s=20.0,
    ),
    Drill(
        name="leader-not-heard",
        summary="what the leader of the main etcd cluster sends is lost, and it still receives",
        goal_s=10.0,
        fault=partitions.leader_not_heard,
        lasts_s=20.0,
    ),
    Drill(
        name="events-stopped",
        summary="all members of the events etcd cluster are stopped",
        goal_s=1.0,
        fault=services.events_stopped,
        lasts_s=20.0,
    ),
    Drill(
        name="server-killed",
        summary="kill -9 of an API server",
        goal_s=5.0,
        fault=services.server_killed,
    ),
    Drill(
        name="server-hung",
        summary="an API server accepts connections and answers none",
        goal_s=5.0,
        fault=services.server_hung,
        lasts_s=20.0,
    ),
    Drill(
        name="server-hung-for-good",
        summary="an API server answers none until its watchdog kills it and systemd starts it again",
        goal_s=10.0,
        fault=services.server_hung_for_good,
    ),
)

DRILLS: Mapping[str, Drill] = {drill.name: drill for drill in _ALL}
