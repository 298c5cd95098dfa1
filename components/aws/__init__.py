"""Sites on AWS: network, node pools, VPN and peering."""
