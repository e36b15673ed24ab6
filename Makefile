# Two commands: `make demo` and `make test`. Everything else is for those who work on corpusgate.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REQUIREMENTS := deployments/requirements
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check lint docs bench-memory bench-overhead bench-tables bench-drift bench-text bench-reingestion bench lock clean

demo: $(VENV)/core.done
	$(BIN)/corpusgate demo

test: $(VENV)/test.done
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: lint test

lint: $(VENV)/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
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
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate pyproject.toml -o $(REQUIREMENTS)/core.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate --extra test -c $(REQUIREMENTS)/core.txt pyproject.toml -o $(REQUIREMENTS)/test.txt

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "corpusgate needs Python 3.11 or newer; say which with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.done: $(REQUIREMENTS)/core.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes -r $(REQUIREMENTS)/core.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $@

$(VENV)/test.done: $(REQUIREMENTS)/test.txt $(VENV)/core.done
	$(BIN)/python -m pip install --quiet --require-hashes -r $(REQUIREMENTS)/test.txt
	@touch $@

clean:
	rm -rf $(VENV) demo
