"""`rmwbench capacity`: up to which rate, size or number of readers a limit holds, per arm
(docs/capacity.md)."""
