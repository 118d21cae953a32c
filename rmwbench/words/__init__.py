"""How are numbers and texts worded for people? Values in; text with unit, digits and no control
characters out.

The lowest layer, beside `errors`: it imports nothing of rmwbench, and everything may import it."""
