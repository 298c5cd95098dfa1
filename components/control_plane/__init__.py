"""The control plane, in the order in which its parts come into play; ``plane.py`` puts them together.

1. ``secrets.py``: once the vault gives access, the secrets that several machines share.
2. ``issuing.py`` and ``certificates.py``: authorities and certificates, with their keys in the vault only.
3. ``parts.py``: base classes of the parts that a cloud makes, machines among them; a cloud implements their maker in
   its ``control_plane.py``.
4. ``readiness.py``: a machine counts as made once it does its work.
5. ``founding.py``: once an etcd cluster's first members are ready, the record that forbids a second bootstrap.
6. ``replacement.py`` and ``guard.py``: from then on one machine of a role is replaced at a time, and all of them are
   destroyed only after a confirmation.
"""
