# SPDX-License-Identifier: Apache-2.0
# The front door; the work is done by the programs in tools/. Every target first runs tools/setup,
# which returns at once when nothing is missing.
#
#   make FUZZ_SECONDS=600 fuzz     seconds per fuzz target; FUZZ=name picks one
#   make SOAK=0.1 soak             a tenth of the examples
#   make BENCH='table --scale 0.1' bench
#                                  workloads of bench/run.py, and how large they are
#   make WERROR=OFF                leave compiler warnings warnings
#   make JOBS=1                    compilers and tests run at once; default: one per processor

FUZZ_SECONDS ?= 60
FUZZ ?=
SOAK ?= 1
BENCH ?=
export WERROR JOBS FUZZ_SECONDS SOAK

PROGRAM = tools/build release libleman.so leman_static $(if $(wildcard cli/*.c),leman_cli) \
          $(if $(wildcard python/ext/*.c),leman_python)

.DEFAULT_GOAL := build
.PHONY: build help setup demo test check format asan tsan fuzz soak bench wheel clean

build: ## the libraries, the command (build/leman) and the Python package in .venv
	@tools/setup
	@$(PROGRAM)

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 9

setup: build ## install what this machine lacks, then build

demo: build ## a short tour: two functions fill columns, a kill in the middle, a resume
	@tools/demo

test: ## everything that must pass before a change is merged
	@tools/setup
	@tools/test

check: ## the house style: formatting, layers, exports, banned calls, sizes, words
	@tools/setup
	@tools/check

format: ## rewrite C and Python sources in the house format
	@tools/setup
	@tools/format

asan: ## C tests and fuzz corpora under AddressSanitizer and UBSan
	@tools/setup
	@tools/test asan replay

tsan: ## C tests labelled threads under ThreadSanitizer
	@tools/setup
	@tools/test tsan

fuzz: ## search for inputs that break a parser, FUZZ_SECONDS for each target
	@tools/setup
	@tools/fuzz $(FUZZ)

soak: ## long runs
	@tools/setup
	@tools/test soak

bench: build ## time every workload beside its peers
	@.venv/bin/python bench/run.py $(BENCH)

wheel: ## dist/*.whl, for any Linux since glibc 2.17
	@tools/setup
	@tools/wheel

clean: ## remove what was built; .venv and .deps stay
	rm -rf build dist
