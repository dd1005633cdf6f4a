"""The functions, their rights, and what starts them."""
