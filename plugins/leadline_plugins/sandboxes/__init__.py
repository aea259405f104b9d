"""Sandboxes: places where foreign code runs and does no harm, all with the same interpreter inside."""
