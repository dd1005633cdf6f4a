"""The programs in containers: what they print and how they end."""
