ENV ?= lab

# The lab and the tests start Python thousands of times: without bytecode each start would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lab lab-down check test drills lint bench

lab:      ; @lab/bootstrap.sh --root && exec .venv/bin/python -m lab.up --env $(ENV)
lab-down: ; @lab/bootstrap.sh --root && exec .venv/bin/python -m lab down --env $(ENV) --all
check:    ; @lab/bootstrap.sh --dev && exec .venv/bin/python -m tests.run fast
test:     ; @lab/bootstrap.sh --root --dev && exec .venv/bin/python -m tests.run fast engine images loopback machines cluster
drills:   ; @lab/bootstrap.sh --root --dev && exec .venv/bin/python -m tests.run drill $(DRILLS)
lint:     ; @lab/bootstrap.sh --dev && exec lab/lint.sh
bench:    ; @lab/bootstrap.sh --root --dev && exec .venv/bin/python -m tests.bench $(BENCH)
