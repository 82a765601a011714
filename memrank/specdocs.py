"""What the spec's fields mean, read from the docstrings under them: for the JSON Schema and the README."""

import ast
import inspect
from itertools import chain, pairwise

from memrank import (
    pertype,
    spec,
    speccalibration,
    speccascade,
    speccoefficients,
    speccompile,
    specevaluate,
    speclm,
    specreads,
)


def descriptions() -> dict[tuple[str, str], str]:
    """(model, field) to its description, of every field of the spec that is documented."""
    found: dict[tuple[str, str], str] = {}
    sources = (
        pertype,
        spec,
        speccalibration,
        speccascade,
        speccoefficients,
        speccompile,
        specevaluate,
        speclm,
        specreads,
    )
    for model in chain.from_iterable(ast.parse(inspect.getsource(module)).body for module in sources):
        if not isinstance(model, ast.ClassDef):
            continue
        bases = {base.id for base in model.bases if isinstance(base, ast.Name)}
        found.update({(model.name, field): text for (name, field), text in found.items() if name in bases})
        for field, text in pairwise(model.body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                found[model.name, field.target.id] = inspect.cleandoc(text.value.value)
    return found
