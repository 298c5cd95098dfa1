"""Access by SSH and to the vault; and who is refused: people whose access was revoked, and machines in quarantine."""
