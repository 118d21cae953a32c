"""The questionnaire of a committee: how it is read, answered from evidence and campaigns, and
shown."""
