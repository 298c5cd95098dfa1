"""The VPN of an environment on a laptop: a certificate of an hour for the person who signed in, OpenVPN, and name
resolution."""
