"""Runs: the session, the engine that walks the pipeline, findings, folders and metadata."""
