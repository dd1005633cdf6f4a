"""`lamplighter events`: requests on a lab's bus, what the lab tells there, and the schemas of both."""
