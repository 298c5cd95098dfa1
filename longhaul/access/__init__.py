"""Access of people: who signs in, and whose access was revoked (docs/sign-in.md)."""
