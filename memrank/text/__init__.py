"""Reading text: dates and durations, tokens, the period and temporal sensitivity of a query, sentence vectors."""
