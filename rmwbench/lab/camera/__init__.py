"""Camera frames from outside the workers: from a GStreamer pipeline, or drawn here."""
