# Two commands: `make demo` and `make test`. Everything else is for those who work on corpusgate.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REQUIREMENTS := deployments/requirements
INSTALL := $(BIN)/python -m pip install --quiet --no-deps --no-compile --require-hashes
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Modules are compiled when first imported, once for all processes that follow.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check lint docs bench-memory bench-overhead bench-tables bench-drift bench-text bench-reingestion bench lock clean

demo: $(VENV)/core.done
	$(BIN)/corpusgate demo

test: $(VENV)/test.done
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: lint test

lint: $(VENV)/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

# Writes the parts of README.md and docs/ that follow from the code.
docs: $(VENV)/core.done
	$(BIN)/python -m flows.documentation

bench: bench-memory bench-overhead bench-tables bench-drift bench-text bench-reingestion

bench-memory: $(VENV)/test.done
	$(BIN)/python -m tests.benchmarks.memory

bench-overhead: $(VENV)/test.done
	$(BIN)/python -m tests.benchmarks.overhead

bench-tables: $(VENV)/test.done
	$(BIN)/python -m tests.benchmarks.table_distance

bench-drift: $(VENV)/test.done
	$(BIN)/python -m tests.benchmarks.drift

bench-text: $(VENV)/test.done
	$(BIN)/python -m tests.benchmarks.text_distance

bench-reingestion: $(VENV)/test.done
	$(BIN)/python -m tests.benchmarks.reingestion

# Pins what pyproject.toml asks for. Needs `uv`, which is not part of the environment.
lock:
	echo pip | uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate - -o $(REQUIREMENTS)/pip.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate pyproject.toml -o $(REQUIREMENTS)/core.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate --extra test -c $(REQUIREMENTS)/core.txt pyproject.toml -o $(REQUIREMENTS)/test.txt

# The pip that comes with Python may be years old, and takes three times as long over a list of pins.
$(VENV)/pip.done: $(REQUIREMENTS)/pip.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "corpusgate needs Python 3.11 or newer; say which with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -r $(REQUIREMENTS)/pip.txt
	@touch $@

# The lists are complete, so nothing is left to be resolved; that of the tests holds the other one.
$(VENV)/core.done: $(REQUIREMENTS)/core.txt pyproject.toml | $(VENV)/pip.done
	$(INSTALL) -r $(REQUIREMENTS)/core.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $@

$(VENV)/test.done: $(REQUIREMENTS)/core.txt $(REQUIREMENTS)/test.txt pyproject.toml | $(VENV)/pip.done
	$(INSTALL) -r $(REQUIREMENTS)/test.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $(VENV)/core.done $@

clean:
	rm -rf $(VENV) demo
