"""Templates and inputs of the tasks for language models."""
