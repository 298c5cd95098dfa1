"""The VPN of an environment as a laptop uses it: a certificate of an hour for who has signed in, OpenVPN, and names."""
