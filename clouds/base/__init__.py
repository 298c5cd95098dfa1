"""Terms that every cloud shares, and the protocol that each cloud answers."""
