"""What machines are given instead of the internet: pinned binaries, Debian packages and container images over HTTP."""
