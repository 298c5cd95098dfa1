"""What a change means for each environment, for whoever reviews it: the script behind the comment on a pull request."""
