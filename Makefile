# `make demo` and `make test` do all set-up on a bare Debian 12 with Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

LOWEST := .venv-lowest
FRESH := .venv-fresh

.PHONY: demo test test-slow test-times test-lowest test-install coverage lock dist lint audit unit bench fuzz docs \
  site papers clean help

help:
	@echo 'make demo   simulate, run the nodes and estimators, print results next to the truth'
	@echo 'make test   linters, type checker and the tests that this machine can run'
	@echo 'make audit  known vulnerabilities of what is installed, where their service can be reached'
	@echo 'make test-slow   the tests that take seconds each (test/slow.txt), for releases'
	@echo 'make test-times  run the tests and list those that are slow'
	@echo 'make coverage    run the tests and print the share of lines they reach, layer by layer'
	@echo 'make test-lowest   the tests on the lowest promised version of every dependency'
	@echo 'make test-install  wheel and sdist into empty environments, and their demo'
	@echo 'make dist   wheel and sdist into dist/'
	@echo 'make lock   requirements/newest.txt: what the newest run used'
	@echo 'make bench  benchmarks beside their peers'
	@echo 'make fuzz   damaged files and spoilt messages: SEED=N SECONDS=S PARTS="--part streams"'
	@echo 'make docs   what is made from declarations: parameters, glossary, architecture, types'
	@echo 'make site   the documents as a site with search: site/index.html'
	@echo 'make papers measure every table of the papers anew and write their pages (half an hour)'
	@echo 'make clean  remove the virtual environment and caches'

$(STAMP): pyproject.toml setup.py
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo 'python3-venv is missing: install it with: apt-get install python3-venv' >&2; exit 1; }
	@echo 'installing into $(VENV): a few minutes the first time'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip setuptools
	$(BIN)/pip install -qq --disable-pip-version-check -e '.[zenoh,batch,test]'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/veh-id demo --out out/demo

test: lint unit

lint: $(STAMP)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/deptry veh_identification

# Not a part of lint: it asks a service on the network, which many machines do not reach.
audit: $(STAMP)
	$(BIN)/python tools/audit.py

# One BLAS thread: the matrices of the tests are small, and two threads on two cores fight.
# Bytecode is kept, whatever the shell says: many tests start processes.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist loadfile

unit: $(STAMP)
	$(PYTEST) -m 'not slow'

test-slow: $(STAMP)
	$(PYTEST) -m slow

# By processor time, so that other work on the machine does not matter.
test-times: $(STAMP)
	rm -f test/.times
	$(PYTEST) -m 'not slow' --times test/.times
	@echo 'beyond 0.5 s and not in test/slow.txt:'; awk '$$1 > 0.5' test/.times | sort -rn

coverage: $(STAMP)
	$(BIN)/pip install -qq --disable-pip-version-check -e '.[coverage]'
	$(PYTEST) -m 'not slow' --cov=veh_identification --cov-report=
	$(BIN)/python tools/coverage_by_layer.py

# The lower bounds of pyproject.toml are what Ubuntu 24.04 has, as far as it has it.
$(LOWEST)/.installed: pyproject.toml setup.py tools/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) tools/lowest.py zenoh > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check --upgrade pip setuptools
	$(LOWEST)/bin/pip install -qq --disable-pip-version-check -c $(LOWEST)/constraints.txt \
	  -e '.[zenoh,test]'
	@touch $@

test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/veh-id doctor
	$(PYTEST:$(BIN)/%=$(LOWEST)/bin/%) -m 'not slow'

lock: $(STAMP)
	{ echo '# What the newest run of all tests used (make lock).'; \
	  $(BIN)/pip freeze --exclude-editable --disable-pip-version-check; } > requirements/.newest.txt
	mv requirements/.newest.txt requirements/newest.txt

dist: $(STAMP)
	$(BIN)/pip install -qq --disable-pip-version-check -e '.[release]'
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# The demo away from the sources, from the wheel; from the sdist what it says of itself.
test-install: dist
	$(PYTHON) -m venv --clear $(FRESH)
	$(FRESH)/bin/pip install -qq --disable-pip-version-check dist/*.whl
	cd dist && ../$(FRESH)/bin/veh-id doctor && ../$(FRESH)/bin/veh-id demo --out demo
	$(FRESH)/bin/pip install -qq --disable-pip-version-check --force-reinstall --no-deps dist/*.tar.gz
	cd dist && ../$(FRESH)/bin/veh-id doctor && ../$(FRESH)/bin/veh-id simulate --list

bench: $(STAMP)
	$(BIN)/veh-id bench

# Every case comes from the seed; the default one is the time.
SECONDS ?= 600
fuzz: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/fuzz.py --seconds $(SECONDS) \
	  $(if $(SEED),--seed $(SEED)) $(PARTS)

# Whole or not at all: an error must not leave an empty document behind.
docs: $(STAMP)
	$(BIN)/veh-id parameters --markdown > docs/.parameters.md
	mv docs/.parameters.md docs/parameters.md
	$(BIN)/veh-id parameters --glossary > docs/.glossary.md
	mv docs/.glossary.md docs/glossary.md
	$(BIN)/python tools/architecture.py
	$(BIN)/python tools/papers.py
	$(BIN)/veh-id parameters --types > veh_identification/.api_options.py
	mv veh_identification/.api_options.py veh_identification/api_options.py
	$(BIN)/ruff format --quiet veh_identification/api_options.py

# Search, navigation and one page a paper; the same files as on the repository's own pages.
site: $(STAMP)
	$(BIN)/pip install -qq --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site
	@echo 'site/index.html'

PAPERS = venture2006 venture2002 abdellatif sinigaglia ayusawa
papers: $(STAMP)
	for paper in $(PAPERS); do $(BIN)/veh-id reproduce $$paper --out out/reproduce/$$paper || exit; done
	for paper in $(PAPERS); do cp out/reproduce/$$paper/reproduce.json bench/measured/$$paper.json; done
	$(BIN)/python tools/papers.py

clean:
	rm -rf $(VENV) $(LOWEST) $(FRESH) dist site .pytest_cache .mypy_cache .ruff_cache build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
