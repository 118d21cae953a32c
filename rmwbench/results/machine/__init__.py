"""Where was it measured, and by how good an instrument? A campaign's machine and the newest
calibration of it in; both as every answer shows them out.

Imports `bundle`, `words` and the models of `results`."""
