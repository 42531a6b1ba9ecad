# Two commands matter: `make demo` shows it, `make test` proves it. Each sets up everything it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Pure packages: their own tests cover every line and branch, a few of them only by random examples, which one
# run may miss: hence 99.9. Coverage is measured in these tests alone, because
# it makes tests slower by a third and more.
PURE := core language

# Most tests wait for fsync. `make test` has their folders in memory, where there is a tmpfs with 4 GB that may run
# programs; `make test-all` has them on the disk.
MEMORY = $(shell file=$$(mktemp -p /dev/shm 2>/dev/null) && printf '\043!/bin/sh\n' >$$file && chmod 700 $$file \
	&& $$file && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }'; rm -f "$$file")

# One more than there are cores: many tests wait for other programs.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')

.PHONY: demo test test-all test-llm test-frameworks test-crewai test-strands test-encryption test-reliability test-suites test-openapi check check-workflows e2e-venv e2e-browser graph-server docs bench build lock clean

demo: $(READY)
	$(BIN)/python -m examples.demo

test: export PYTEST_DEBUG_TEMPROOT ?= $(MEMORY)
test: $(READY) check e2e-venv graph-server
	$(BIN)/python -m pytest -q -n auto -m "not slow" $(PURE:%=--cov=nagori.%) --cov-report= $(PURE:%=tests/%)
	$(BIN)/python -m coverage report --skip-covered --precision=2 --fail-under=99.9
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --durations=10 -m "not slow" $(PURE:%=--ignore=tests/%)

# The slow ones, too, and as many examples as each test asks for.
test-all: export HYPOTHESIS_PROFILE ?= ci
test-all: $(READY) check check-workflows e2e-venv graph-server
	$(BIN)/python -m pytest -q -n auto --durations=10

# A real small model on this machine, end to end; not part of the others: 1.1 GB once, then some minutes.
test-llm: $(READY)
	$(BIN)/python -m tests.llm.install
	$(BIN)/python -m pytest -q -s tests/llm

# Frameworks that nagori plugs into, the real ones, in an environment of their own (out/frameworks-venv).
FRAMEWORKS := out/frameworks-venv
test-frameworks: $(FRAMEWORKS)/.ready
	PYTHONPATH=src $(FRAMEWORKS)/bin/python -m pytest -q -p no:cacheprovider -m "not slow" \
		tests/frameworks tests/services/test_histories.py
	PYTHONPATH=src $(FRAMEWORKS)/bin/python -m pytest -q -p no:cacheprovider tests/docs/test_examples.py \
		-k "python_of_a_page and (mcp.md or langgraph.md or openai-agents.md or anthropic-memory-tool.md)"

# CrewAI needs an older `mcp` than the other frameworks.
CREWAI := out/crewai-venv
test-crewai: $(CREWAI)/.ready
	PYTHONPATH=src $(CREWAI)/bin/python -m pytest -q -p no:cacheprovider tests/frameworks/test_crewai.py
	PYTHONPATH=src $(CREWAI)/bin/python -m pytest -q -p no:cacheprovider tests/docs/test_examples.py \
		-k "python_of_a_page and crewai.md"

# Strands Agents, too, and it does not fit beside CrewAI.
STRANDS := out/strands-venv
test-strands: $(STRANDS)/.ready
	PYTHONPATH=src $(STRANDS)/bin/python -m pytest -q -p no:cacheprovider tests/frameworks/test_storage.py -k strands
	PYTHONPATH=src $(STRANDS)/bin/python -m pytest -q -p no:cacheprovider tests/docs/test_examples.py \
		-k "python_of_a_page and strands.md"

# Kills, faults, power loss, random calls: hours. `make test` and `make test-all` have slices of it.
test-reliability: $(READY)
	$(BIN)/python -m tests.reliability

# Encryption at rest: a SQLite with ciphers has the name of the usual one, hence an environment of its own.
ENCRYPTION := out/encryption-venv
test-encryption: $(ENCRYPTION)/.ready
	PYTHONPATH=src $(ENCRYPTION)/bin/python -m pytest -q -p no:cacheprovider tests/encryption

# Requests made from the OpenAPI document, to every route, on files and on PostgreSQL: about ten minutes.
FUZZ := out/fuzz-venv
test-openapi: $(READY) $(FUZZ)/.ready
	$(BIN)/python -m tests.http.fuzz --examples $(or $(EXAMPLES),50)
	$(BIN)/python -m tests.http.fuzz --examples $(or $(EXAMPLES),50) --postgres

$(FUZZ)/.ready: requirements/fuzz.txt
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip -q --disable-pip-version-check install --require-hashes -r requirements/fuzz.txt
	touch $@

$(ENCRYPTION)/.ready: requirements/encryption.txt
	$(PYTHON) -m venv $(ENCRYPTION)
	$(ENCRYPTION)/bin/python -m pip -q --disable-pip-version-check install --require-hashes \
		-r requirements/encryption.txt
	touch $@

$(CREWAI)/.ready: requirements/crewai.txt
	$(PYTHON) -m venv $(CREWAI)
	$(CREWAI)/bin/python -m pip -q --disable-pip-version-check install --require-hashes -r requirements/crewai.txt
	touch $@

$(STRANDS)/.ready: requirements/strands.txt
	$(PYTHON) -m venv $(STRANDS)
	$(STRANDS)/bin/python -m pip -q --disable-pip-version-check install --require-hashes -r requirements/strands.txt
	touch $@

$(FRAMEWORKS)/.ready: requirements/frameworks.txt
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip -q --disable-pip-version-check install --require-hashes \
		-r requirements/frameworks.txt
	touch $@

# Other projects' own test suites on our classes, where their folder is (SUITES; its README says how they are laid
# out). Nothing of them is kept here.
SUITES ?= out/suites
test-suites: $(READY) e2e-venv
	$(BIN)/python -m tools.suites $(SUITES)

# Names are counted, and marks that lead nowhere fail; `make check NAMES=strict` fails for every broken rule
# (CONTRIBUTING.md, "Names"). Which rules are strict by default: STRICT in tools/names.py.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tools.names $(if $(filter strict,$(NAMES)),,--report)

# Workflow files; with actionlint where it is installed, else it says that it is not.
check-workflows: $(READY)
	$(BIN)/python -m tools.workflows

# The real claude program for tests/e2e. Offline it stays away, and those tests are skipped and say so.
e2e-venv: $(READY)
	$(BIN)/python -m tests.e2e.install

# The graph server for tests of the mirror (70 MB). Offline it stays away, and those tests are skipped and say so.
graph-server: $(READY)
	$(BIN)/python -m tests.arcadedb

# The browser for tests/browser, Debian's own. Without it those tests are skipped and say so.
e2e-browser: $(READY)
	command -v chromium >/dev/null || { apt-get update && \
		apt-get install -y --no-install-recommends chromium fonts-noto-cjk; }
	$(BIN)/python -m pytest -q tests/browser

docs: $(READY)
	$(BIN)/python -m docs.async_verbs
	$(BIN)/python -m docs.remote_verbs
	$(BIN)/python -m docs.generate

bench: $(READY)
	$(BIN)/python -m bench.store --peers

# Sdist and wheel in dist/, offline.
build: $(READY)
	$(BIN)/python -m tools.build dist

# Pins with hashes; run after changing requirements/*.in. Extras stay in the pins: without them an older pip looks for
# the newest release of what is asked for with an extra, and refuses it as soon as that is not the pinned one.
lock: $(READY)
	$(BIN)/python -m pip -q install uv
	for name in run minimal build dev bench e2e llm frameworks crewai strands encryption fuzz graph; do \
		$(BIN)/uv pip compile -q --generate-hashes --no-emit-index-url --no-header --no-strip-extras --universal \
			--python-version 3.11 requirements/$$name.in -o requirements/$$name.txt; done

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip -q --disable-pip-version-check install --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip -q --disable-pip-version-check install --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src $(VENV)/lib >/dev/null || true
	touch $(READY)

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
