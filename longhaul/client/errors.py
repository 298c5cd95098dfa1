"""Errors of the client. They end a command with a message, as the errors of every command do."""

from __future__ import annotations

from longhaul.terminal.exits import CommandError


class SignInError(CommandError):
    """A sign-in failed; the message says what is wrong and what to do, and contains no token."""
