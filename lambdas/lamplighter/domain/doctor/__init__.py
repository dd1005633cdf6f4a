"""What the doctor says of an account and a lab: facts in, one line a check out."""
