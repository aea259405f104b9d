"""Pictures of cited pages: selection, validation, and conversion in a separate process."""
