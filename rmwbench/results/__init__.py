"""Which answers does a campaign give? The input is a bundle; the output is a typed answer, from
which the terminal, HTML and Markdown are rendered: `show` of a campaign, `compare` of two,
`capacity`, `decide`, `explain`. `show_document` makes the answer of `show` from the parts that
`workload` and `rmwbench.beside` return; `model` and `show_model` hold the types of answers.

Imports `bundle`, `analysis`, `suite` and `words`; `report` renders the answers."""
