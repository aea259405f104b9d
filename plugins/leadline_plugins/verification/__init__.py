"""Claims of a report, the judges that decide them, repair, and the reader of other tools' reports."""
