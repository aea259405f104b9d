"""The call path: every request of a run to anything outside it."""
