"""Language models: who is asked for a task, in which order, at what price."""
