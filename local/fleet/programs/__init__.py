"""What the programs in containers print and how they end."""
