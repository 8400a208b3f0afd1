# Everything a developer runs; `make` alone lists the targets.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DOCS_STAMP := .venv/.docs-installed

.DEFAULT_GOAL := help
.PHONY: help venv venv-locked lock demo docs dist test test-slow test-all test-faults test-fuzz test-processors test-wheel test-lowest lint types contract check bench bench-scale bench-instructions gallery tutorials recovery stress

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  %-18s %s\n", $$1, $$2}'

venv: $(STAMP) ## make .venv and install rankfactor in it, for development

# The stamp makes the second call quick; a change of pyproject.toml installs again.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "rankfactor needs Python 3.11 or later, and '$(PYTHON)' is not; run: make venv PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

venv-locked: pyproject.toml requirements/ci.lock ## the same with the versions of requirements/ci.lock, documentation tools included
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements/ci.lock --editable '.[dev,docs]'
	@touch $(STAMP) $(DOCS_STAMP)

lock: venv ## write requirements/ci.lock from the packages in .venv
	$(BIN)/python requirements/build_lock.py

# With --quiet, mkdocs does not count warnings, and --strict lets dead links pass.
docs: $(DOCS_STAMP) ## build the documentation site into site/, failing at any broken link
	NO_MKDOCS_2_WARNING=1 PYTHONWARNINGS=ignore $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $(DOCS_STAMP)

dist: venv ## build the source archive and the wheel into dist/
	rm -f dist/rankfactor-*
	$(BIN)/python -m build --outdir dist

WHEEL := $(CURDIR)/.venv/wheel
test-wheel: dist ## install the wheel into an empty environment and run the demo outside of the tree
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check dist/rankfactor-*.whl
	cd $$(mktemp -d) && $(WHEEL)/bin/rankfactor --version && $(WHEEL)/bin/rankfactor demo --folds 2 --out demo \
		&& $(WHEEL)/bin/python -c 'import rankfactor; rankfactor.show_versions()'

LOWEST := $(CURDIR)/.venv/lowest
# Older packages may use what newer ones deprecate, so such warnings are not errors here.
test-lowest: ## install the lowest versions that pyproject.toml names and run the quick tests with them
	rm -rf $(LOWEST)
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) .ci/lowest_versions.py > $(LOWEST)/pins.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/pins.txt '.[dev]'
	NUMBA_CACHE_DIR=$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -n 2 --dist loadfile -W ignore::DeprecationWarning

demo: venv ## fit the bundled data and write a report
	$(BIN)/rankfactor demo

# A file's tests stay on one worker, which shares their fits and compiles their kernels once.
test: venv ## run the quick tests, in at most 4 minutes on two cores
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: venv ## run the long tests: laws by sampling, agreement of engines, whole journeys
	$(BIN)/python -m pytest -n 2 -m slow

test-all: test test-slow ## run all tests

# `make test-slow` has the same with two moments. RANKFACTOR_SEED=1 gives other moments.
FAULTS := .venv/faults.txt
test-faults: venv ## kill commands and fill their disks at 100 random moments each (about an hour; figures in .venv/faults.txt)
	rm -f $(FAULTS)
	RANKFACTOR_MOMENTS=$${RANKFACTOR_MOMENTS:-100} RANKFACTOR_FIGURES=$(CURDIR)/$(FAULTS) \
		$(BIN)/python -m pytest -n 2 --dist loadfile -m slow tests/faults
	cat $(FAULTS)

# Linear algebra and compiled kernels round differently on other processors. Each has its own cache of kernels. Without an
# empty NUMBA_CPU_FEATURES numba would use the machine's own vector instructions whatever the processor's name.
NUMERICAL := $(addprefix tests/,kernels laws likelihoods shrinkage latent steps classifiers engine posterior estimators storage)
AS_HASWELL := OPENBLAS_CORETYPE=Haswell NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= NUMBA_CACHE_DIR=$(CURDIR)/.venv/numba-haswell
AS_NEHALEM := OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= NUMBA_CACHE_DIR=$(CURDIR)/.venv/numba-nehalem

test-processors: venv ## run the numerical tests as two other x86-64 processors: with AVX2, without AVX
	$(AS_HASWELL) $(BIN)/python -m pytest -n 2 --dist loadfile $(NUMERICAL)
	$(AS_NEHALEM) $(BIN)/python -m pytest -n 2 --dist loadfile $(NUMERICAL)

CASES := 10000
test-fuzz: venv ## read 10,000 mutated files of all formats, in about 15 minutes on two cores (SEED: repeats a run; CASES: how many)
	$(BIN)/python -m tests.fuzz.run --cases $(CASES) $(if $(SEED),--seed $(SEED))

lint: venv ## check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv ## check types
	$(BIN)/mypy

contract: venv ## check the direction of imports
	$(BIN)/lint-imports

check: lint types contract test ## everything that must pass before a change goes in

bench: venv ## time against other programs, for docs/results/performance.md (BENCH: its options)
	$(BIN)/python -m benchmarks.bench $(BENCH)
	test -z "$(RANKFACTOR_DATA)" || $(BIN)/python benchmarks/default_fit.py

bench-scale: venv ## time and memory of fits to many samples, for docs/howto/large-tables.md (SCALE: its options)
	$(BIN)/python benchmarks/scale.py $(SCALE)

bench-instructions: venv ## count the instructions of a small fit under valgrind
	$(BIN)/python -m benchmarks.bench.instructions

gallery: venv ## draw docs/reference/gallery.md and its pictures again (needs RANKFACTOR_DATA and a Chromium)
	$(BIN)/python docs/build_gallery.py

tutorials: venv ## run the tutorials and draw their pictures again
	$(BIN)/python docs/build_tutorials.py $(PAGES)

RESULTS := .venv/results
recovery: venv ## compare the recovery of known factors, for docs/results/results.md (about 8 minutes; pip install mofapy2 factor_analyzer)
	$(BIN)/rankfactor reproduce recovery --out $(RESULTS)/recovery --figures $(RESULTS)/recovery
	$(BIN)/python docs/build_results.py $(RESULTS)

stress: venv ## compare models on damaged tables, for docs/results/results.md (about an hour; needs RANKFACTOR_DATA)
	$(BIN)/rankfactor reproduce stress --threads 1 --out $(RESULTS)/stress --figures $(RESULTS)/stress --resume
	$(BIN)/python docs/build_results.py $(RESULTS)
