"""Rules for everybody."""

DISCOUNT = 0
