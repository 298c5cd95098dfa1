"""Documents that one side writes and another reads: a module each, with the writer and the reader."""
