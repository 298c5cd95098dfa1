"""Baking machine images with Packer: what is baked, what Packer is given, and what becomes of it."""
