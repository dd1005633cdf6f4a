"""EventBridge, Scheduler, streams, alarms, and the targets of all of them."""
