"""Language models, behind one door: deadlines, budgets, retries and counts hold for every call that goes through it."""

from memrank.remote.counts import Call, Counts
from memrank.remote.door import Reading, Remote, Unanswered

__all__ = ["Call", "Counts", "Reading", "Remote", "Unanswered"]
