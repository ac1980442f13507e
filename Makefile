# What is built, and what runs it; `make help` lists the targets, and each part says at its head what it has.
#
# A folder is a module: adding a .c file to it adds it to its archive, and a program is its main.c with the archives that it needs.
# Variants go to folders of their own: `make BUILD=build/asan SAN=address,undefined unit`.

.DEFAULT_GOAL := all
PARTS_OF_MAKE := $(addprefix make/,$(addsuffix .mk,flags packages modules generated objects programs tests run fuzz bench testbed install))
include $(PARTS_OF_MAKE)

.PHONY: format
format: ## formats the C sources in place
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: clean
clean: ## removes what was built
	rm -rf build compile_commands.json

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z_.-]*\):.*## /\1\t/p' $(PARTS_OF_MAKE) Makefile | expand -t 24
