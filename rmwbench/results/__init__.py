"""What did a campaign find? A bundle in; the answer out, from which terminal, HTML and Markdown are
made: `show` of a campaign, `compare` of two, `capacity`, `explain`. `show` collects what
`workload` and `ros` find; `model` and `shown` are what answers are made of.

Imports `bundle`, `analysis`, `suite` and `words`; `report` renders what is made here."""
