"""EKS managed node groups and the Auto Scaling groups behind them."""
