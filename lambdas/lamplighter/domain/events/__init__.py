"""Events: requests on the lab's bus, and what the lab tells there."""
