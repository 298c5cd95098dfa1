"""How the lab gets its pinned tools and its base image: caches, downloads, Go builds. Standard library only."""
