"""Tuning a pipeline on a golden set: weights by search, the judge by gradient, nothing without held-out evidence."""
