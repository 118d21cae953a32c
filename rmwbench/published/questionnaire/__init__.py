"""The questionnaire of a committee: read, answered from evidence and campaigns, and shown."""
