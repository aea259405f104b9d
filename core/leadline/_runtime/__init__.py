"""The private machinery of runs: calls, journal, stages, models."""
