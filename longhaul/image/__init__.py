"""Baking machine images with Packer: the plan of a bake, Packer's input, and the result."""
