"""Claims of a report, the judges that decide them, repair, and checks of reports from other tools."""
