"""Money: amounts, prices, budgets and their periods. billing/ says what leases cost."""
