"""Reproductions of what people reported in public: suites with a `reported` section, judged as
claims are (`published/claims/judging`), with what was measured of them here. This package knows
claims and the core."""
