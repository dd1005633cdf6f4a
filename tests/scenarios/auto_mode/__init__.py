"""Labs on EKS Auto Mode, which local/auto_mode plays in the time of the lab."""
