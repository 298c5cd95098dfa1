"""The lab's stand-in for a company's identity provider: a real one, with invented people."""
