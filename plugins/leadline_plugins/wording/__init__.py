"""The words of reports and the notices of runs, in the language of each report; one TOML file per language."""
