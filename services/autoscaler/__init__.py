"""Decides which machines a cluster needs: the input is pending pods and gangs, the output is sizes of groups and nodes
to remove.

:func:`services.autoscaler.scaling_decision.decide` is the decision. It is pure: all its input is in its arguments, and
it sends no request. ``cluster_state.py`` and ``scaling_pools.py`` make its arguments from the cluster and the clouds.
"""
