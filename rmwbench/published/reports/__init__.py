"""What people reported in public, reproduced: suites with a `reported` section, judged as claims are
(`published/claims/judging`), with what was measured of them here. Knows claims and the core."""
