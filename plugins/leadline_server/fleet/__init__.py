"""Runs that several machines work on: journals, events, messages and metadata in Postgres, files there or in S3.

Nothing here is imported unless the setting `runs.database` is set.
"""

from importlib.util import find_spec

from leadline.errors import UsageError

if find_spec("psycopg") is None:
    raise UsageError("runs.database needs psycopg: leadline plugins install 'leadline[fleet]'")
