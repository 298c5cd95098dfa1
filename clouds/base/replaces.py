"""Annotation of each field of the environment file: the machines that a change of it replaces."""

from __future__ import annotations

from enum import Flag, auto


class Replaces(Flag):
    """Parts of what runs that a change of a field's value replaces, as far as the file alone tells.

    A section's fields have that of the field that holds the section, unless they have one of their own.
    """

    NOTHING = 0
    """Nothing: all that runs goes on as it is."""
    ETCD = auto()
    """The machines of the main etcd cluster, one at a time. The names of these four are those of the roles."""
    EVENTS = auto()
    """The machines of the etcd cluster for events, one at a time."""
    API = auto()
    """The machines of the API servers, one at a time."""
    VPN = auto()
    """The machines of the laptops' VPN, one at a time."""
    NEW_NODES = auto()
    """Nothing that runs, but a pool's machines that are made from then on differ from it."""
    ROLE = auto()
    """The machines of the role that a key above is called after, one at a time."""
    LEARNER = auto()
    """The learner's machine or disk."""
    SIZE = auto()
    """The API servers' machines where the declared size comes into another class (docs/sizing.md)."""
    REACH = auto()
    """Nothing, but others than before reach the vault and the racks' gateways from outside."""
    STATE = auto()
    """Parts that the state alone tells, or none that could be: the setting is refused while it is in use."""

    SITE = ETCD | EVENTS | API | VPN | NEW_NODES
    """Whatever machine stands in the site."""
