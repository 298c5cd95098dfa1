"""Records in an environment's vault that several commands read or write."""
