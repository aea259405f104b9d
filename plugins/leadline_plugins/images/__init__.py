"""Pictures found on pages: which of them fit the report (`choosing`), what is let in of their bytes (`checking`)."""
