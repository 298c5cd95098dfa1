"""The lab's stand-in for a company's identity provider: a real identity provider with invented people."""
