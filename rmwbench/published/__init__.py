"""What did others publish, and does it hold? Five evaluations and more, each as published, as
corrected from its data, and as measured here.

`importers` read the data of others, `claims` judge statements, `figures` are drawn again,
`questionnaire` answers the committee's questions, `community` says how projects answer, and
`committee` writes the next report. The sources' files are in `suites/published/SOURCE/`. All of it
may import the core, and nothing of the core imports any of it.
"""
