"""Golden sets and runs of others: BEIR, TREC, ranx, LoCoMo, LongMemEval."""
