"""How a middleware's project behaves, beside how its code runs: engagement on GitHub, REP-2004
declarations, what users say in a survey.

Each part reads published or collected data and makes one document; pages and tables show that
document alone.
"""
