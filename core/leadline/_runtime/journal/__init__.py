"""The journal of a run and the cache across runs: what calls returned, kept in SQLite and found again."""
