"""Charts: planning them from passages, checking their numbers, and drawing them."""
