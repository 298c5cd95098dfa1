"""Client of a cluster's API, for the command, people's client, the services and the lab's plugin. The package imports
none of them."""
