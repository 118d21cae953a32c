"""Numbers and texts in words for people, with units, digits and no control characters.

This is the lowest layer, beside `errors`: it imports nothing of rmwbench, and everything may import
it."""
