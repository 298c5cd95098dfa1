"""Objects on the cluster: the second stack, ``<env>-objects``."""
