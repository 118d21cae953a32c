"""What do the nightly build farms of the TSC reports of 2020 and 2021 say? Their tables or one-line
files in; cells, trials and figures of a bundle out. A reader per year, over one format.

Imports the sources and the schema of `importers`."""
