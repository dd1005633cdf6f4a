"""Capacity of the account that is paid ahead: reservations, and the sale of Capacity Blocks."""
