"""Chart runners, and what they share: the rows of a chart, and whether its numbers stand in the evidence."""
