"""How is an answer shown? Documents of `results` in; terminal, HTML, Markdown and charts out.

Renders only. Imports `results`, and `analysis` for names and units of metrics."""
