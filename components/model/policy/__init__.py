"""Rules that an environment must satisfy, exceptions to them, and settings that must stay as they are."""
