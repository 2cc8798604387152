"""The chart, and what is made from it."""
