"""The state of an environment: collected from its cloud and its machines, judged, and shown."""
