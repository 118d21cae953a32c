"""One user's answer from blocks and limits: probabilities, reasons, flip points. Pure."""
