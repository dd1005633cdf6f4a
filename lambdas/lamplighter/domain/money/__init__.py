"""The cost of nodes, what is held and spent of a budget, and the receipt."""
