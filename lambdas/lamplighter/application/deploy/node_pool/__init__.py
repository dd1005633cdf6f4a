"""Deploy steps that only pools that are NodePools have."""
