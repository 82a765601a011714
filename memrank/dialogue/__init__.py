"""A conversation as it grows: what stays in the context, what is summarized, what goes; and its state on disk."""
