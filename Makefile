# Two commands matter: `make demo` (install, build, run, answer) and `make test`. Everything here is a thin call.
.PHONY: help demo test test-all test-rust test-python bench setup setup-run setup-test workers clean

UV = $$(setup/uv)
RUN = $(UV) run --quiet --no-sync
# Outside the clone, keyed by Cargo.lock and compiler: a fresh clone finds what the last one built.
CARGO = cd native && CARGO_TARGET_DIR="$$(./target-dir)" cargo
FIRST_SET = floor synthetic null iceoryx2 zenoh cyclonedds fastdds
# Workers that only `make test-all` builds and tests; setup/packages.apt has their packages as group `all`.
OPTIONAL = zeromq cyclonedds-0-10 iceoryx roscpp

# Real processes on a shared machine may be starved once: what fails is run once more, and says so. What fails twice fails.
twice = { ($(1)) || { echo "FAILED ONCE, and is run once more: cargo test in native/ (see above)"; ($(1)); }; }

help:
	@echo "make demo      install what is missing, evaluate the middlewares on this machine (about 5 minutes), show the answer"
	@echo "make test      all tests, of the workers those of the first set"
	@echo "make test-all  those, the tests of the other workers, which it builds, and of a Ray cluster"
	@echo "make bench     how fast the instrument itself is, against bare programs"
	@echo "make workers   build the workers of the first set"
	@echo "make clean     remove the Python environment (workers stay in the cache)"

setup-run:
	@setup/rust
	@setup/apt run
	@$(UV) sync --quiet --frozen --no-dev --inexact

setup-test: setup-run
	@setup/apt test
	@$(UV) sync --quiet --frozen

workers: setup-run
	@$(RUN) rmwbench middlewares build

demo: workers
	@$(RUN) rmwbench run quick

test: setup-test workers test-rust test-python

# Workers one by one, so that feature unification never rebuilds one for another. One thread: real traffic, two cores.
test-rust:
	@if cargo fmt --version >/dev/null 2>&1; then cd native && cargo fmt --all -- --check; else echo "SKIPPED: formatting, rustfmt is not installed (rustup component add rustfmt)"; fi
	@$(call twice,$(CARGO) test --release --quiet --locked)
	@$(call twice,$(CARGO) test --release --quiet --locked -p rmwbench-bench)
	@for name in $(filter-out floor synthetic null,$(FIRST_SET)) bench-cyclonedds; do $(call twice,$(CARGO) test --release --quiet --locked -p rmwbench-$$name) || exit 1; done

# A timed test that fails is run once more and named as `rerun`: what fails twice fails.
test-python:
	@$(RUN) ruff check rmwbench tests bench
	@$(RUN) ruff format --check rmwbench tests bench
	@$(RUN) lint-imports
	@$(RUN) pytest -n 2 -m "not timing"
	@$(RUN) pytest -m timing --reruns 1 -rR

test-all: test
	@setup/apt all
	@for name in $(OPTIONAL); do ($(CARGO) test --release --quiet --locked -p rmwbench-$$name) || exit 1; done
	@$(UV) sync --quiet --frozen --extra cluster
	@$(RUN) pytest -m timing tests/cluster --reruns 1 -rR

bench: workers
	@$(RUN) python -m bench
	@$(RUN) python -m bench network

clean:
	rm -rf .venv .uv
