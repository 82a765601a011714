"""Demos and instructions of the predictors that ask a model, tuned by DSPy's optimizers on golden queries.

found = tune_prompts(spec, build, fit, choose, "nDCG@10", optimizer="gepa", budget=Budget(max_calls=300))
with_prompts(pipeline, found.states)
"""

from memrank.stages.lm.prompting import Prompt, read_prompt, with_prompts
from memrank.tune.prompts.desk import Budget
from memrank.tune.prompts.joint import Joint, jointly
from memrank.tune.prompts.one import Effort, Tuned
from memrank.tune.prompts.student import Trial
from memrank.tune.prompts.tuning import Prompts, tune_prompts

__all__ = [
    "Budget",
    "Effort",
    "Joint",
    "Prompt",
    "Prompts",
    "Trial",
    "Tuned",
    "jointly",
    "read_prompt",
    "tune_prompts",
    "with_prompts",
]
