"""Pictures of cited pages: selection, validation, and conversion in a worker process."""
