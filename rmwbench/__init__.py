"""rmwbench: which robot middleware, configured how, will carry this robot's traffic, with evidence."""
