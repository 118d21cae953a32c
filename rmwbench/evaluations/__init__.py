"""What did others publish, and does it hold? The published evaluations' claims, figures and
questions, each as published, as corrected from its data, and as measured here.

A wing: it may import all of the core; nothing of the core imports it. The sources' files are in
`suites/published/SOURCE/`."""
