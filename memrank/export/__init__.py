"""Exports: the decay and the weights of a spec as a formula that another engine evaluates, and whether it agrees."""
