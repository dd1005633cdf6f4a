"""The checks of the doctor: from facts about an account and a lab to one line a check."""
