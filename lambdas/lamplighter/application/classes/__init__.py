"""Classes of windows: writes what their namespaces shall have, whenever a lease opens or ends."""
