"""Reasons of what services and the command decide or find: a member for programs, beside each sentence for people."""
