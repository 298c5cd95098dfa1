"""The error of a sign-in."""

from __future__ import annotations


class SignInError(Exception):
    """Ends a sign-in with a message, which says what is wrong and what to do. No token is in it."""
