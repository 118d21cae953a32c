"""The questionnaire answered: one document, and its forms for the terminal, Markdown and HTML."""
