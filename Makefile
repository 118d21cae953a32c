# Two commands matter: `make demo` (install, build, run, answer) and `make test`. Everything here is a thin call.
.PHONY: help preflight wheel site demo reports test test-rest test-all rare check rust fuzz fuzz-native sanitize bench setup-run setup-test workers cross clean
.PHONY: lint-python lint-text lint-cpp lint-rust types test-rust test-rust-rest rust-suites rust-suites-rest test-python test-untimed test-long
.PHONY: test-traffic test-traffic-rest test-smoke test-timed-rest

UV = $$(setup/uv)
# What hints print is what works when pasted: there is no `rmwbench` on the PATH of who types `make`.
RUN = RMWBENCH_COMMAND=.venv/bin/rmwbench $(UV) run --quiet --no-sync
# With it, as container images set it, every start of Python compiles all that it imports: a second and more.
unexport PYTHONDONTWRITEBYTECODE
# Outside the clone, keyed by the compiler and the clone's place: a fresh clone in the same place finds what the last one built.
CARGO = . setup/rust-here; cd native && CARGO_TARGET_DIR="$$(./target-dir)" cargo
# The first set are the crates of native/middlewares; those of native/rare are built and tested by `make rare` alone.
FIRST_SET = $(shell setup/crates first)
RARE = $(shell setup/crates rare)

# Programs that only `make bench` runs: `make test` compiles them, so that they do not rot.
BENCH = bench bench-floor bench-iceoryx2 bench-zenoh bench-cyclonedds bench-fastdds

# A part of the Rust toolchain that CI must have; elsewhere its absence is said.
with = . setup/rust-here; if cargo $(1) --version >/dev/null 2>&1; then ($(2)); elif [ -n "$$CI" ]; then echo "cargo $(1) is missing"; echo "  do: rustup component add $(1)"; exit 1; else echo "SKIPPED: cargo $(1) is not installed (rustup component add $(1))"; fi

help:
	@echo "make demo      install what is missing, evaluate the middlewares on this machine (about 5 minutes), show the answer;"
	@echo "               the first time it builds the workers (10 to 20 minutes) and Debian's newest Fast DDS (10 more; NEWEST= leaves it out)"
	@echo "make test      what a change needs (about 12 minutes); T=tests/x.py::test_y for one test"
	@echo "make check     style, types, words, and all short tests that need no traffic: the first part of make test"
	@echo "make test-rest what make test leaves out: whole campaigns, every arm's conformance, all that takes long (half an hour)"
	@echo "make rust T=\"-p rmwbench-harness schedule\"  some tests in Rust"
	@echo "make rare      build and test the workers of native/rare, such as LCM and ROS 1; RARE=lcm for one"
	@echo "make test-all  all of make test, make test-rest, make rare, and the tests of a Ray cluster"
	@echo "make preflight what this machine will do with both, in a second, changing nothing"
	@echo "make bench     how fast the instrument itself is, against bare programs (15 to 45 minutes)"
	@echo "make fuzz      5 000 bad inputs to the command line; FUZZ=\"--cases 500 --keep\" for others"
	@echo "make fuzz-native  broken inputs for all that reads bytes of others in native/ (half an hour)"
	@echo "make sanitize  native/ under the compilers' sanitizers; PART=\"tsan miri\" for some (native/sanitize/run has their names)"
	@echo "make workers   build the workers of the first set"
	@echo "make wheel     one file for pip in dist/, with the workers inside: for machines without compilers; TARGET=aarch64-unknown-linux-gnu for those"
	@echo "make site      the documents as pages in dist/site, which open without a server and without the network"
	@echo "make clean     remove the Python environment (workers stay in the cache)"

setup-run:
	@setup/rust
	@setup/apt run
	@python3 setup/source_times.py restore
	@$(UV) sync --quiet --frozen --no-dev --inexact

setup-test: setup-run
	@setup/apt test
	@$(UV) sync --quiet --frozen

preflight:
	@setup/preflight

cross: setup-run
	@setup/cross $(TARGET)

workers: setup-run
	@$(RUN) rmwbench middlewares build
	@python3 setup/source_times.py keep

# One file for machines without compilers or a checkout: robots, clusters, CI. TARGET is Rust's name of another kind of machine.
wheel: $(if $(TARGET),cross,workers)
	@RMWBENCH_WHEEL="$$(native/target-dir)$(TARGET:%=/%)/release" $(UV) build --quiet --wheel --out-dir dist
	@ls -l dist/*.whl

# MkDocs alone makes these pages and nothing else needs it, so it is not part of the Python environment.
SITE = mkdocs==1.6.1 mkdocs-material==9.6.14
site: setup-run
	@$(UV) run --quiet --no-project $(SITE:%=--with %) mkdocs build --quiet --strict
	@echo "site: dist/site/index.html"

# A worker that cannot be built here costs its own arms and nothing else. `make demo NEWEST=` leaves out the newest Fast DDS, which
# is built beside the system's in 10 minutes, from Debian's source packages.
NEWEST = --newest
demo: preflight setup-run
	@test -z "$(NEWEST)" || setup/apt newest
	@$(RUN) rmwbench middlewares build --partly $(NEWEST)
	@$(RUN) rmwbench run quick
	@echo "next:   . .venv/bin/activate, once in each shell; then every \`rmwbench …\` works as it is printed"

# Effects that people reported in public: each suite of suites/reports is run, or gone on with, in REPORTS; half an hour on a quiet machine.
REPORTS = campaigns/reports
reports: setup-run
	@$(RUN) rmwbench suites reports --measure $(REPORTS) --save suites/reports/measured

# Python that ruff reads. Shell scripts are found by their first line.
PYTHON = rmwbench tests bench workers setup
SHELL_SCRIPTS = $$(git ls-files setup .ci native | xargs grep -lE '^\#!/(usr/)?bin/(env )?(ba|da)?sh')

# One part after the other, whatever becomes of those before it; the last lines name all that failed.
EVERY = @MAKE="$(MAKE)" python3 setup/every.py

# What a mistake in style, types or logic meets first, in a few minutes: nothing here runs traffic, and the tests that take
# half of all untimed processor time (`long`) come later.
LINTS = lint-python lint-text lint-cpp types lint-rust
check: setup-test
	$(EVERY) $(LINTS) test-untimed

ifdef T
test: setup-test
	@$(RUN) pytest $(T)
rust: setup-run
	@($(CARGO) test --release --quiet --locked $(T))
else
# Workers before the tests: some untimed ones start them, and none is to be skipped because a build is missing.
test: preflight setup-test
	$(EVERY) $(LINTS) workers --needing workers test-untimed test-rust test-traffic test-smoke
rust: test-rust
endif

# What `make test` leaves out. CI runs it behind that, so nothing here rots.
test-rest: setup-test
	$(EVERY) workers --needing workers test-long test-rust-rest test-traffic-rest test-timed-rest

# Workers each by a cargo of its own, so that feature unification never rebuilds one for another. All of it is compiled before
# any of it runs: compilers beside a suite cost its checks their time limits. Then four arms at a time: a suite mostly waits, in
# namespaces of its own; in this order, since Zenoh's takes longest. Of one arm each, four suites; of all others, two with two arms
# at a time. Cargo is no part of make's own count of processes.
RUST_ARMS = $(shell setup/crates first | sort -r)
RUST_SUITES = zenoh default $(filter-out zenoh floor synthetic null,$(RUST_ARMS)) bench bench-cyclonedds
test-rust:
	@setup/rust-test-summary $(MAKE) --no-print-directory rust-suites

# Conformance of a worker's first arm, and of all others: 35 checks for each.
test-rust: export RMWBENCH_CONFORMANCE = first
test-rust-rest: export RMWBENCH_CONFORMANCE = rest
test-rust-rest:
	@setup/rust-test-summary $(MAKE) --no-print-directory rust-suites-rest

rust-suites:
	@($(CARGO) test --release --quiet --locked --no-run)
	@for name in $(filter-out default,$(RUST_SUITES)); do ($(CARGO) test --release --quiet --locked --no-run -p rmwbench-$$name) || exit 1; done
	@python3 setup/source_times.py keep
	@$(MAKE) --no-print-directory --jobs 4 --output-sync=target $(RUST_SUITES:%=rust-suite-%)

rust-suites-rest:
	@for name in $(RUST_ARMS); do ($(CARGO) test --release --quiet --locked --no-run -p rmwbench-$$name) || exit 1; done
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target $(RUST_ARMS:%=rust-arms-%)

rust-arms-%:
	@(unset MAKEFLAGS MFLAGS; $(CARGO) test --release --quiet --locked -p rmwbench-$* --test conformance)

# The crates that are built without being named: the harness, its parts, and the workers without a middleware.
rust-suite-default:
	@(unset MAKEFLAGS MFLAGS; $(CARGO) test --release --quiet --locked)

rust-suite-%:
	@(unset MAKEFLAGS MFLAGS; $(CARGO) test --release --quiet --locked -p rmwbench-$*)

# Form, and what the compiler and clippy say of every crate that `make test` covers, its bench programs included.
lint-rust:
	@$(call with,fmt,$(CARGO) fmt --all -- --check)
	@$(call with,clippy,$(CARGO) clippy --release --quiet --locked --all-targets -- -D warnings)
	@for name in $(filter-out floor synthetic null,$(FIRST_SET)) $(BENCH); do $(call with,clippy,$(CARGO) clippy --release --quiet --locked --all-targets -p rmwbench-$$name -- -D warnings) || exit 1; done
	@python3 setup/source_times.py keep

lint-python:
	@$(RUN) ruff check $(PYTHON)
	@$(RUN) ruff format --check $(PYTHON)
	@$(RUN) lint-imports

lint-text:
	@$(RUN) typos
	@$(RUN) shellcheck --severity=warning $(SHELL_SCRIPTS)

lint-cpp:
	@git ls-files '*.c' '*.cpp' '*.h' '*.hpp' | $(RUN) xargs clang-format --dry-run --Werror

types:
	@$(RUN) mypy --no-error-summary

# Both kinds wait for a third of their time: two at a time would leave processors idle.
test-untimed:
	@$(RUN) pytest -n 3 --dist worksteal -m "not timing and not traffic and not long"

test-long:
	@$(RUN) pytest -n 3 --dist worksteal -m "long and not timing and not traffic"

# The traffic tests of `make test`: a campaign's and a network's.
TRAFFIC = tests/campaign tests/network

# Real traffic that what runs beside it cannot change: whole files, as many at a time as tests/conftest.py says. What a starved
# machine spoils is run once more, with the proof (tests/support/starved.py); nothing else is.
test-traffic:
	@$(RUN) pytest -n auto --dist loadfile -m "traffic and not timing" -rfER $(TRAFFIC)

test-traffic-rest:
	@$(RUN) pytest -n auto --dist loadfile -m "traffic and not timing" -rfER $(TRAFFIC:%=--ignore=%)

# One of each kind of timed test; the others are in test-rest.
test-smoke:
	@$(RUN) pytest -m "timing and smoke" -rfER

test-timed-rest:
	@$(RUN) pytest -m "timing and not smoke" -rfER

test-python:
	$(EVERY) lint-python test-untimed test-long test-traffic test-traffic-rest test-smoke test-timed-rest

rare: setup-run
	@setup/apt rare
	@for name in $(RARE); do ($(CARGO) test --release --quiet --locked -p rmwbench-$$name) && ($(call with,clippy,$(CARGO) clippy --release --quiet --locked --all-targets -p rmwbench-$$name -- -D warnings)) || exit 1; done

test-all: test test-rest rare
	@$(UV) sync --quiet --frozen --extra cluster
	@$(RUN) pytest -m "timing or traffic" tests/cluster -rfER

# Needs a nightly compiler; ten minutes for each target.
fuzz-native:
	@native/fuzz/run

# By hand: C and C++ of the workers, threads and memory of the harness. PART names some of its parts.
sanitize:
	@native/sanitize/run $(PART)

bench: workers
	@$(RUN) python -m bench
	@$(RUN) python -m bench network

# What it finds goes to tests/badinput/corpus.jsonl with --keep, which the ordinary tests run.
FUZZ = --cases 5000
fuzz:
	@$(UV) sync --quiet --frozen
	@$(RUN) python -m tests.badinput.fuzz $(FUZZ)

clean:
	rm -rf .venv .uv
