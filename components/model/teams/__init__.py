"""Teams and their queues: section ``teams``."""
