"""The whole environment: every site in its cloud, the control plane, pools and links; and the parts that clouds have in
common."""
