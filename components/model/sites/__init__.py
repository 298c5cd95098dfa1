"""Sites and the names of what stands in them: section ``sites``, ``tags``, ``naming``."""
