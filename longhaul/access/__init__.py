"""Access of people: who can sign in, and whose access was revoked (docs/sign-in.md)."""
