"""Reasons of the decisions and findings of the services and the command. Programs read a member of these enumerations,
people read the sentence beside it."""
