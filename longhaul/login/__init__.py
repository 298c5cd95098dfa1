"""``longhaul login``: signs a person in with the company's identity provider."""
