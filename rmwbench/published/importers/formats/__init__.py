"""A reader per published format: `recognises(item)`, `read(source, out)`, `PLAUSIBLE`."""
