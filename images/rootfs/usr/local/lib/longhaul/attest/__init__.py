"""Proofs of the identity of cloud machines: the protocol of machine and join endpoint, and the endpoint's checks of a
proof."""
