"""What the doctor reads: one system a file, each read for itself; what it means is domain/doctor's."""
