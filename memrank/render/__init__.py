"""Results as tables, explanations, views and rows. Nothing is computed here that a result does not hold."""
