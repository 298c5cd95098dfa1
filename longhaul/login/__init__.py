"""``longhaul login``: signs a person in by the company's own identity."""
