"""What did others publish, and does it hold? Seven evaluations, each as published, as
corrected from its data, and as measured here.

`importers` reads the data of others, `claims` judges statements, `figures` draws figures again,
`questionnaire` answers the committee's questions, `community` shows how projects answer, and
`committee` writes the next report. The sources' files are in `suites/published/SOURCE/`. All of it
may import the core, and nothing in the core imports any of it.
"""
