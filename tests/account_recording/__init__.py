"""What AWS answered to `lamplighter verify --record DIR`, played again: the embedded cloud must answer alike."""
