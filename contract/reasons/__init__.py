"""Reasons for decisions and findings of services and the command: an enumeration for programs, beside each sentence for
people."""
