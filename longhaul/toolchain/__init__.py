"""Pinned tools and the lab's base image: caches, downloads, Go builds. Standard library only."""
