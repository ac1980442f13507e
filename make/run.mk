# The targets that run tests and checks.
# T= names single tests: unit tests' programs by their names, those of tests/net as pytest takes them.
ifdef T
export T
NAMED := $(filter $(UNIT),$(T:%=$(BUILD)/tests/%))
.PHONY: unit
unit: $(NAMED) $(BUILD)/duopolyd
	@tests/one

.PHONY: test
test: $(if $(findstring .py,$(T)),test-programs) $(NAMED) $(BUILD)/duopolyd
	@tests/one
else
.PHONY: unit
unit: $(UNIT) $(BUILD)/duopolyd ## builds and runs the unit tests of one variant; T=test_nats: that one, with all it says
	tests/run-unit $(BUILD) $(UNIT)

.PHONY: test
test: deps deps-test deps-guest deps-dpdk ## installs what is missing, builds every variant and runs all tests; T=tests/net/test_marks.py::test_…, T=test_nats: that one, with all it says
	@tests/run
endif

.PHONY: quick
quick: ## what one runs before a commit (3 minutes on two cores): one compiler, checks, unit tests, ten tests on namespaces (root)
	@$(MAKE) -s --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) unit-programs
	@tests/quick

.PHONY: soak
soak: $(UNIT) $(BUILD)/duopolyd ## the unit tests again under SEEDS= (20) seeds drawn from the time
	for i in $$(seq $(or $(SEEDS),20)); do \
	    TEST_SEED=$$(($$(date +%s) * 1000 + i)) tests/run-unit $(BUILD) $(UNIT) || exit 1; done

.PHONY: soak-model
soak-model: $(BUILD)/tests/test_policies ## a literal model follows the engine through EVENTS= (10⁶) random events under each combination of turn, place and network (hours)
	TEST_EVENTS=$(or $(EVENTS),1000000) $<

# Each is a program that looks at the sources, but for these two, which look at what is built.
LINTS := $(filter-out %.allowed %/symbols %/hardening,$(wildcard tests/lint/*))
.PHONY: lints
lints:
	@echo $(LINTS)

.PHONY: check
check: programs ## the checks that run nothing: include directions, format, Python, one owner per symbol, hardened programs
	@printf '%s\n' $(LINTS) | xargs -P $$(nproc) -I{} sh -c 'echo {}; {} || [ $$? = 77 ]'
	tests/lint/symbols $(BUILD)/lib*.a
	tests/lint/hardening $(BUILD)

.PHONY: test-guest
test-guest: deps-guest ## runs the tests marked for other kernels in guests: KERNELS= (uml qemu), TESTS= (files of tests/net, their ids, unit tests' programs)
	@$(MAKE) -s --no-print-directory unit-programs
	@for kernel in $(or $(KERNELS),uml qemu); do tests/run-guest $$kernel $(TESTS) || failed=1; done; [ -z "$$failed" ]

.PHONY: test-virtual
test-virtual: deps-virtual ## runs the tests in virtual time (root, under 45 minutes): networks whose clock moves when all wait
	@$(MAKE) -s --no-print-directory unit-programs
	@GUEST_TIMEOUT=$${GUEST_TIMEOUT:-2400} tests/run-guest virtual $(TESTS)
	@BUILD=$(BUILD) /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/net/test_virtual.py

.PHONY: test-dpdk
test-dpdk: deps-dpdk ## runs the tests of the data plane in user space (root), also with the sanitizers
	@$(MAKE) -s --no-print-directory test-programs $(addprefix $(BUILD)/tests/,$(TEST_DPDK))
	@$(MAKE) -s --no-print-directory BUILD=$(BUILD)/asan SAN=address,undefined OPT=-O1 test-programs
	@tests/run-unit $(BUILD) $(addprefix $(BUILD)/tests/,$(TEST_DPDK))
	@for build in $(BUILD) $(BUILD)/asan; do BUILD=$$build /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/net/test_fastpath.py tests/net/test_fastpath_switch.py || exit 1; done

.PHONY: soak-dataplane
soak-dataplane: test-programs ## PACKETS= (10⁹) through the data plane while flows, modes and leases change: none is lost or made up (root, some minutes)
	@PACKETS=$(or $(PACKETS),1000000000) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/net/test_fastpath.py tests/net/test_fastpath_switch.py -k nothing_is_lost

.PHONY: test-frameworks
test-frameworks: deps-spark ## runs the tests of the plug-in in a real Spark, also while programs die or stand still (root, 10 minutes)
	@$(MAKE) -s --no-print-directory test-programs spark-plugin
	@BUILD=$(BUILD) /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/net/test_spark*.py

.PHONY: test-flakes
test-flakes: test-programs ## runs quick tests of tests/net, or those of TESTS=, TIMES= (20) times and says which did not pass each time; best on a busy machine (root, hours)
	@tests/flakes $(or $(TIMES),20) $(TESTS)

.PHONY: test-faults
test-faults: deps ## kills in real time under sanitizers: each promise's own, then SCHEDULES= (50) random ones in a row, or HOURS= of them (root)
	@tests/run-faults $(BUILD)

.PHONY: test-hostile
test-hostile: deps ## a hostile program per role beside a normal load for HOSTILE_SECONDS (3600) under HOSTILE_SEED, and what others notice (root; HOSTILE_MOVES= (names, with commas) HOSTILE_ROLES= names some, HOSTILE_KEYS=no)
	@$(MAKE) -s --no-print-directory test-programs
	@BUILD=$(BUILD) exec /usr/bin/python3 -B -m tests.hostile.run

# As the compiler is called, objects that are up to date included; -B would make what the Makefile includes anew, too.
compile_commands.json: FORCE ## how each C source is compiled, for editors and clang-tidy
	@$(MAKE) -nB --no-print-directory unit-programs | make/compile-commands >$@.part
	@mv $@.part $@
.PHONY: FORCE
