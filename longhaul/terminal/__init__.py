"""Speech of every command with whoever typed it: lines, questions, progress, exit codes. Standard library alone."""
