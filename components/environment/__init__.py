"""The whole environment: every site in its cloud, the control plane, pools and links; what the clouds have in
common."""
