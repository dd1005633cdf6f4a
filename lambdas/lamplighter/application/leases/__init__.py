"""A lease from the command to the receipt, and what people change about the calendar."""
