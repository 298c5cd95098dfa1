"""The control plane, in the order in which its parts come into play; ``plane.py`` puts them together.

1. ``secrets.py``: once the vault admits us, the secrets that several machines share.
2. ``issuing.py`` and ``certificates.py``: authorities and certificates, their keys in the vault alone.
3. The machines themselves are the cloud's: ``components/azure/machines.py`` and ``load_balancer.py``.
4. ``readiness.py``: a machine is there once it does its work.
5. ``founding.py``: once a store's first members are ready, the note that no second one may be founded.
6. ``turn.py`` and ``guard.py``: from then on one machine of a role goes at a time, and all of them together
   only once that was confirmed.
"""
