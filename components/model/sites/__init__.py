"""Sites and the names of resources in them: sections ``sites``, ``tags``, ``naming``."""
