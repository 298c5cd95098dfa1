"""Errors of the client, which end it as they end every other command."""

from __future__ import annotations

from longhaul.terminal.exits import CommandError


class SignInError(CommandError):
    """Ends a sign-in with a message, which says what is wrong and what to do. No token is in it."""
