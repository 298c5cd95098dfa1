"""Annotation of each field of the environment file: the machines that a change of the field replaces."""

from __future__ import annotations

from enum import Flag, auto


class Replaces(Flag):
    """Running parts that a change of a field's value replaces, as far as the file alone shows.

    A section's fields have the annotation of the field that holds the section, unless they have their own.
    """

    NOTHING = 0
    """Nothing: everything keeps running."""
    ETCD = auto()
    """The machines of the main etcd cluster, one at a time. ``ETCD``, ``EVENTS``, ``API`` and ``VPN`` are also the
    names of the roles."""
    EVENTS = auto()
    """The machines of the etcd cluster for events, one at a time."""
    API = auto()
    """The machines of the API servers, one at a time."""
    VPN = auto()
    """The machines of the laptops' VPN, one at a time."""
    NEW_NODES = auto()
    """Nothing that runs. Machines that a pool makes later differ from the running ones."""
    ROLE = auto()
    """The machines of the role that an enclosing key names, one at a time."""
    LEARNER = auto()
    """The learner's machine or disk."""
    SIZE = auto()
    """The API servers' machines, when the declared size moves into another class (docs/sizing.md)."""
    REACH = auto()
    """Nothing; only the public ranges that reach the vault and the racks' gateways change."""
    TUNNELS = auto()
    """No machine. The site's VPN gateway changes in place, and its tunnels may break meanwhile."""
    STATE = auto()
    """Parts that only the state shows, or none: the setting cannot change while it is in use."""

    SITE = ETCD | EVENTS | API | VPN | NEW_NODES
    """Every machine in the site."""
