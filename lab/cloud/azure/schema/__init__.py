"""What each Azure resource type takes, checks and shows: one file a type."""
