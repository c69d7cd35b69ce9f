# Everything from a fresh clone: only Python 3.11+, make and git need to be there. `make` alone lists the targets.

PYTHON ?= python3
# The ONNX Runtime to install: cpu (onnxruntime) or gpu (onnxruntime-gpu and CuPy). The two must not meet in one place.
RUNTIME ?= cpu
# More arguments for pytest, for example: make test TESTS="tests/cli -k help"
TESTS ?=

# Rows of the generator's benchmark to measure, for example: make bench-generate ROWS="full-3 family-4"
ROWS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed-$(RUNTIME)
OTHER_RUNTIMES = $(filter-out $(INSTALLED),$(wildcard $(VENV)/.installed-*))
CI_STEPS := lint types imports sizes test check-rules docs

.DEFAULT_GOAL := help
.PHONY: help install demo format lint types imports sizes test test-external golden rules renew-rules check-rules axioms mutate review docs first-steps browser \
	screenshots release bench bench-generate bench-cost bench-search bench-optimum bench-layouts bench-intervals bench-openvino gpu-check ci clean

help: ## list the targets
	@echo "make TARGET [RUNTIME=cpu|gpu] [PYTHON=python3.X]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## set up .venv with the tool, a runtime and the development tools

# Runs again when the dependencies change; starts from an empty environment when the runtime does.
$(INSTALLED): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "expected Python 3.11 or newer, found: $$($(PYTHON) --version 2>&1); try: make PYTHON=python3.11" >&2; exit 1; }
	@case "$(RUNTIME)" in cpu|gpu) ;; *) echo "expected RUNTIME=cpu or RUNTIME=gpu, found: $(RUNTIME)" >&2; exit 1;; esac
	@if [ -n "$(OTHER_RUNTIMES)" ]; then rm -rf $(VENV); fi
	@echo "installing into $(VENV) with the $(RUNTIME) runtime; this takes a minute or two"
	@[ -x $(BIN)/pip ] || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(RUNTIME),dev]"
	@touch $@

demo: $(INSTALLED) ## optimize a real model and show what changed, why it is correct and how much faster it is
	@$(BIN)/python scripts/demo.py

format: $(INSTALLED) ## rewrite the sources in the common format
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

lint: $(INSTALLED) ## check style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(INSTALLED) ## check the types
	@$(BIN)/mypy

imports: $(INSTALLED) ## check the direction of imports
	@$(BIN)/lint-imports --config setup.cfg --cache-dir .cache/import-linter --no-logo

sizes: $(INSTALLED) ## check that files and functions are short
	@$(BIN)/python scripts/check_sizes.py

test: $(INSTALLED) ## run the tests
	@$(BIN)/python -m pytest -n auto $(TESTS)

golden: $(INSTALLED) ## write the help texts, error wordings and report fields that the tests compare with
	@$(BIN)/python scripts/make_golden.py

test-external: $(INSTALLED) ## run the onnx package's own backend tests and write docs/compatibility.md
	@$(BIN)/python scripts/compatibility.py

rules: $(INSTALLED) ## discover and prove the rule library anew (about an hour)
	@$(BIN)/python scripts/make_rules.py

renew-rules: $(INSTALLED) ## prove the rules of the library again after a change of the specs, without discovery
	@$(BIN)/python scripts/make_proofs.py --renew

check-rules: $(INSTALLED) ## re-check every proof of the committed rule library
	@$(BIN)/tasoopt verify --check

axioms: $(INSTALLED) ## prove every axiom for all sizes and write docs/axioms.md
	@$(BIN)/python scripts/axiom_page.py

mutate: $(INSTALLED) ## change every axiom, precondition and meaning in one place; fails when a change goes unnoticed
	@$(BIN)/python scripts/mutate.py

review: $(INSTALLED) ## list axioms that no proof uses and axioms that follow from others; fails when all collapses
	@$(BIN)/python scripts/review_axioms.py

docs: $(INSTALLED) ## build the documentation into build/site, failing on warnings
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

first-steps: $(INSTALLED) ## type what the README says in a fresh clone with an empty environment
	@$(BIN)/python scripts/first_steps.py

browser: $(INSTALLED) ## find the Chromium that the tests open pages in, or install one
	@$(BIN)/python scripts/browser.py

screenshots: $(INSTALLED) ## draw what users see into build/screenshots: terminal, report page, documentation
	@$(BIN)/python scripts/screenshots.py

release: $(INSTALLED) ## build, check and try out the files of a release; uploads and tags nothing
	@$(BIN)/python scripts/release.py

bench: $(INSTALLED) ## measure this tool and four others on every model of docs/benchmarks.md (an hour)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@$(BIN)/python scripts/bench.py

bench-generate: $(INSTALLED) ## measure the generator for docs/benchmarks-generate.md (half an hour)
	@$(BIN)/python scripts/bench_generate.py $(ROWS)

bench-cost: $(INSTALLED) ## compare predicted with measured latencies, for docs/benchmarks-cost.md
	@$(BIN)/python scripts/bench_cost.py

bench-search: $(INSTALLED) ## measure how search time and memory grow, for docs/benchmarks-search.md
	@$(BIN)/python scripts/bench_search.py

bench-optimum: $(INSTALLED) ## compare the search with the best of all graphs, for docs/benchmarks-optimum.md
	@$(BIN)/python scripts/bench_optimum.py

bench-layouts: $(INSTALLED) ## optimize with and without the rules about layouts, for docs/benchmarks-layouts.md
	@$(BIN)/python scripts/bench_layouts.py

bench-intervals: $(INSTALLED) ## count how often intervals hold the speed-up, for docs/benchmarks-intervals.md
	@$(BIN)/python scripts/bench_intervals.py

bench-openvino: $(INSTALLED) ## optimize for OpenVINO and for ONNX Runtime, for docs/benchmarks-openvino.md
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@$(BIN)/python scripts/bench_openvino.py

gpu-check: $(INSTALLED) ## the whole tool on an NVIDIA GPU, in at most eight minutes (RUNTIME=gpu)
	@$(BIN)/python scripts/gpu_check.py

ci: $(INSTALLED) ## all checks, as continuous integration runs them
	@for step in $(CI_STEPS); do \
		printf '\n== make %s\n' "$$step"; \
		$(MAKE) --no-print-directory "$$step" || exit 1; \
	done

clean: ## remove the environment, caches and build products
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
