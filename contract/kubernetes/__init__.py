"""Client of a cluster's API, for the command, its client, the services and the lab's plugin. It depends on none of
them."""
