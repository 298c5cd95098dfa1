"""Sign-in of people by a company's own identity provider: section ``identity``."""
