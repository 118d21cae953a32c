"""One reader for each published format: `recognises(item)`, `read(source, out)`, `PLAUSIBLE`."""
