"""How a cloud's machine proves what it is: what both sides of it know, and what the join service does with a proof."""
