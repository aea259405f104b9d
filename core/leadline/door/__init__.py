"""The door: the one way from a run to what is outside it, and what each call passes on its way."""
