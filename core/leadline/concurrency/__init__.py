"""Work side by side: tasks, timeouts that hold, threads and processes for what is computed, turns in a crowd."""
