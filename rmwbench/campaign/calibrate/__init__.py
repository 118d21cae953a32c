"""The instrument proves itself: known truths and A/A pairs through the whole pipeline
(docs/calibration.md)."""
