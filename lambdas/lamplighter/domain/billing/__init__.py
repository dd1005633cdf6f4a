"""What leases cost: node time metered, charged, held and settled, the receipt, and the statement of a period."""
