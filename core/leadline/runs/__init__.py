"""One run from its order to its end: session, engine, board, budget, and what is told of it."""
