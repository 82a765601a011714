"""The version of this package, and of the coefficients that it ships."""

from functools import cache

__version__ = "0.1.0"


@cache
def shipped_model() -> str:
    """Names the coefficients that judge relevance and replacements, by their content."""
    import hashlib
    from importlib.resources import files

    folder = files("memrank.data")
    data = [(folder / name).read_bytes() for name in ("relevance.json", "conflict.json")]
    return f"embedded-{hashlib.sha256(b''.join(data)).hexdigest()[:16]}"
