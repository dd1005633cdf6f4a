"""Reads the doctor's facts, one system a file. domain/doctor judges them."""
