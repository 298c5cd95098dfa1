"""Client of a cluster's API, for the operator's command and the lab's plugin. It depends on neither."""
