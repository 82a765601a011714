"""Where memories are kept: readers for the formats met in the wild, a read-only JSONL store, a durable SQLite store."""
