"""Cut documents into passages, rank them for key questions, and select them within a budget of tokens."""
