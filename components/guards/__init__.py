"""Guards in the engine, regardless of who runs it: what is in use stays, policies hold, pools keep their size."""
