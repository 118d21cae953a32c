"""The renderers of a view: for a terminal, as one HTML file, and as Markdown. They know views only,
not campaigns."""
