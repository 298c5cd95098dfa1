"""From the files of an environment to one frozen environment, or one report of all that is wrong."""
