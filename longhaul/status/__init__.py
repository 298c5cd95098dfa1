"""How an environment is: asked of its cloud and its machines, judged, shown."""
