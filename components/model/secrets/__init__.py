"""Certificates, keys and other secrets of the vault, and their rotations."""
