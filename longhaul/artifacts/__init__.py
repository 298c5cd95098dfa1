"""Depots: pinned binaries, Debian packages and container images over HTTP, for machines without the internet."""
