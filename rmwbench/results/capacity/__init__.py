"""A capacity search's bundle as its document: how much each arm holds, and in which words."""
