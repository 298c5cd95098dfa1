"""Nodes, in clouds and racks alike."""
