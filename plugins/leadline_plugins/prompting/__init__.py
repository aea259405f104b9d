"""What prompts show: passages numbered under their sources, within what a model can read."""
