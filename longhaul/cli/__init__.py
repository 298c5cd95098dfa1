"""The command line: the list of commands, parsing, completion, examples."""
