"""A newer version of a middleware than the system's packages have, built beside theirs from
Debian's newest source package: where that comes from and what of it is built (apt), building it and
where it is then (source_build)."""
