"""The four stages, each a `dspy.Module` with a typed signature: prefilter, temporal, ranker, pruner."""
