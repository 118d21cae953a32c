"""A user's own configuration file: which needs of the host that it is read on does it have, and how
does a host of ours meet them?

One reader per format, chosen by the middleware's family; all answer with `FileNeeds`. Imports
`suite` no more than the rest of `lab` does, and asks no worker.
"""
