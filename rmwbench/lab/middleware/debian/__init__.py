"""A newer version of a middleware than the system's packages have, built beside theirs from
Debian's newest source package: the source packages and the plan of the build (apt), and the build
itself with its products (source_build)."""
