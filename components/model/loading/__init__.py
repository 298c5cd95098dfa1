"""From the files of an environment to one frozen environment, or to one report of all faults."""
