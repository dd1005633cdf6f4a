"""How much the tests see: small changes made by a tool, at random, in what decides and in what writes."""
