"""The lab's bus: requests are received there, and the lab's events are told there."""
