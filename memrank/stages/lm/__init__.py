"""Judges that ask a language model: typed signatures with examples, and the modules that ask and check."""
