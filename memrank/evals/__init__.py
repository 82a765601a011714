"""Golden sets, and what a pipeline is worth on them."""
