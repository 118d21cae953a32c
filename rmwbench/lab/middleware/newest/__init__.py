"""A newer version of a middleware than the system's packages have, built beside theirs from
Debian's newest source package: where that comes from (apt), what of it is built (plan), building it
(build), and where it is then (place)."""
