"""A view in a terminal, as one HTML file, and as Markdown: three renderers that know nothing of
what they show."""
