"""Settings: read from their sources, checked against the models of the core and of the chosen plugins."""
