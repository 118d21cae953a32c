"""Frames from outside the workers: a GStreamer pipeline that fills a ring."""
