"""What many tests need: bundles with known truths, and the proof that a machine was busy."""
