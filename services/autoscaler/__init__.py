"""Decides which machines a cluster needs: pending pods and gangs in, sizes of groups and nodes to remove out.

:func:`services.autoscaler.plan.plan` is the decision. It is pure: everything it knows is in its arguments, and nobody
is asked or told. ``reading.py`` and ``pools.py`` make its arguments out of the cluster and the clouds.
"""
