"""How is an answer shown? Answers of `results` in; terminal, HTML, Markdown and charts (`chart`) out.

Renders only. Imports `results`, and `analysis` for names and units of metrics."""
