"""Azure in the lab: resource manager, identity, Key Vault data plane, instance metadata."""
