"""The cluster: network, control plane, add-ons, identities."""
