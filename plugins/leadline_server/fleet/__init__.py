"""Runs that several machines work on: journals, events, messages and metadata in Postgres, files there or in S3.

Nothing here is imported unless the setting `runs.database` is set.
"""
