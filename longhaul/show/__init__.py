"""An environment at a glance, from its file alone: no engine, no account, no network."""
