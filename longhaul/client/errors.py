"""Errors of the client, which end a command with a message like every other command's."""

from __future__ import annotations

from longhaul.terminal.exits import CommandError


class SignInError(CommandError):
    """A sign-in failed; the message says what is wrong and what to do, and contains no token."""
