"""Renders the output of every command: text for a terminal, Markdown for a comment, JSON for programs."""
