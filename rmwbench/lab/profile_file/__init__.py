"""A user's own configuration file: what does it ask of the host that it is read on, and how does a
host of ours come to have it?

One reader per format, chosen by the middleware's family; all answer with `FileNeeds`. Imports
`suite` no more than the rest of `lab` does, and asks no worker.
"""
