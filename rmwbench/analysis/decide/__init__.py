"""One user's answer from blocks and limits: probabilities, reasons, fronts, flip points, worth of
measuring. Pure."""
