"""How fast it is. Nothing here passes or fails by time; ``make bench`` prints what it measured."""
