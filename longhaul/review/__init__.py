"""Tells reviewers what a change means for each environment: the code behind the comment on a pull request."""
