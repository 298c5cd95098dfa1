"""Communication of every command with the person who runs it: lines, questions, progress, exit codes. Standard library
only."""
