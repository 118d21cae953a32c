"""How is an answer shown? Answers of `results` become terminal text, HTML, Markdown and charts.

This package only renders. It imports `results`, and `analysis` for names and units of metrics."""
