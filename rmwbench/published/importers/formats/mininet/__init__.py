"""What do OSRF's Mininet experiments of 2020 say? Raw logs or the table made of them in; cells,
trials and figures of a bundle out.

Imports the sources and the schema of `importers`."""
