"""A user's own configuration file: what does it need of its host, and how does a host of ours meet
these needs?

The family of the middleware chooses one of the readers of formats, which all return `FileNeeds`. No
worker is needed.
"""
