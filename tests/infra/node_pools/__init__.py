"""Labs whose pools are NodePools: what is deployed for them, and what it may do."""
