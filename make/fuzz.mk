# Fuzzing with libFuzzer.
# A fuzz target is tests/fuzz/fuzz_NAME.c with seeds in tests/fuzz/NAME; whose inputs may be longer than 4096 bytes says so here.
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LONGEST_wire := 65537
FUZZ_LONGEST_dump := 16384
FUZZ_LONGEST_state := 32768
FUZZ_SECONDS ?= 60
FUZZ_RUNS    ?= -1
# Built apart: coverage has to be compiled in.
FUZZ_BUILD := $(BUILD)/fuzz
# What the engine compares has been decoded before: it teaches the fuzzer nothing about inputs, and cost a third of the time.
$(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,engine)): CFLAGS += $(if $(findstring fuzzer,$(SAN)),-fno-sanitize-coverage=trace-cmp)
$(BUILD)/fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(TEST_ARCHIVES)
	$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $< $(EXTRA) -Wl,--start-group $(TEST_ARCHIVES) -Wl,--end-group $(TEST_LIBS)
.PHONY: fuzz
fuzz: ## explores the decoders with libFuzzer for FUZZ_SECONDS (60; 0: no bound) or FUZZ_RUNS inputs each, TARGETS= (all of tests/fuzz); what it finds stays in build/fuzz/found
	@$(MAKE) -s --no-print-directory BUILD=$(FUZZ_BUILD) CC=clang OPT=-O1 SAN=fuzzer-no-link,address,undefined \
	    $(patsubst %,$(FUZZ_BUILD)/fuzz_%,$(or $(TARGETS),$(FUZZ)))
	@tests/fuzz/explore $(FUZZ_BUILD) $(FUZZ_SECONDS) $(FUZZ_RUNS) \
	    $(foreach t,$(or $(TARGETS),$(FUZZ)),$(t)$(if $(FUZZ_LONGEST_$(t)),:$(FUZZ_LONGEST_$(t))))
