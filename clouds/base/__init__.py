"""Types and functions that all clouds share, and the protocols that each cloud implements."""
