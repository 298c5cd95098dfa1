"""The lab's stand-in for a company: a real identity provider, invented people, and their browser."""
