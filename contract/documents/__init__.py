"""Documents that one side writes and another reads: one module each, with the writer and the reader."""
