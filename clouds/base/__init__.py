"""Types and functions that all clouds share, and the base class of each aspect of a cloud."""
