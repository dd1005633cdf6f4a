"""What nodes cost, what is held and spent, and the receipt."""
