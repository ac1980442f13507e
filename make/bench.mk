# Benchmarks; each says which of its bars are missed.
.PHONY: bench-sim
bench-sim: $(BUILD)/duopoly-sim $(BUILD)/duopoly-workload ## the simulator's bars on the Facebook trace (FB_TRACE=) and its growth up to SERVERS= (300), misses marked
	tests/bench/sim $(BUILD)

.PHONY: bench-policy
bench-policy: $(BUILD)/duopoly-sim ## POLICY= (joint) beside the source's readings over SETTINGS= (all) of the Facebook trace (FB_TRACE=), on the hosts of CLUSTER=, misses marked (half an hour and more)
	CLUSTER=$(CLUSTER) tests/bench/policy $(BUILD) $(or $(POLICY),joint) $(SETTINGS)

$(BUILD)/bench-mcmf: $(BUILD)/obj/tests/mincost/bench_main.o $(PLAINFLOW) $(call archive,mincost)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $^ -lstdc++ -lm

.PHONY: bench-mcmf
bench-mcmf: $(BUILD)/bench-mcmf ## minimum-cost flow against LEMON; says which targets are missed
	$(BUILD)/bench-mcmf

$(BUILD)/bench-engine: $(BUILD)/obj/tests/bench/engine_main.o $(call archive,model) $(call archive,sim) $(call archive,engine) $(call archive,mincost) $(call archive,lib)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka -lyaml -ljansson -lxxhash -lsystemd -lm -pthread

BEFORE ?= HEAD~1
.PHONY: bench-engine
bench-engine: $(BUILD)/bench-engine ## the engine's decisions a second, p99 of a step and growth under duopoly and joint, and beside BEFORE (the commit before), misses marked (ten minutes on an idle machine); CLUSTER=: on that file's hosts instead
	$(if $(CLUSTER),CLUSTER=$(CLUSTER) exec $(BUILD)/bench-engine $(STEPS);) missed=0; $(BUILD)/bench-engine $(STEPS) || missed=1; \
	tests/bench/engine_before.py $(BUILD)/bench-engine $(BEFORE) $(BUILD)/before && exit $$missed

$(BUILD)/bench-fairness-trace: $(BUILD)/obj/tests/bench/fairness_trace_main.o $(foreach a,sim engine mincost lib,$(call archive,$(a)))
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lyaml -ljansson -lxxhash -lsystemd -lm -pthread

$(BUILD)/bench-fairness: $(BUILD)/obj/tests/bench/fairness_main.o $(call archive,engine) $(call archive,mincost) $(call archive,lib)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lyaml -ljansson -lxxhash -lsystemd -lm -pthread

.PHONY: bench-fairness
bench-fairness: $(BUILD)/bench-fairness $(BUILD)/bench-fairness-trace ## users' shares over time under each answer to `users`, beside the source's bars, misses marked, a picture in $(BUILD)/fairness.svg; and what shares cost on the Facebook trace (FB_TRACE=) over SEEDS= (3)
	missed=0; $(BUILD)/bench-fairness $(BUILD)/fairness.svg || missed=1; \
	$(BUILD)/bench-fairness-trace $(or $(FB_TRACE),../shared/traces/FB2010-1Hr-150-0.txt) $(SEEDS) && exit $$missed

$(BUILD)/bench-hdas: $(BUILD)/obj/tests/bench/hdas_main.o $(foreach a,sim engine mincost lib,$(call archive,$(a)))
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lyaml -ljansson -lxxhash -lsystemd -lm -pthread
test-programs: $(BUILD)/bench-hdas

.PHONY: bench-hdas
bench-hdas: $(BUILD)/bench-hdas ## affinity and its baselines beside their source's figures, over sets of what that source does not print: SETS= drawn (1000), KEEP= kept (30), SEED=; misses marked, a page in $(BUILD)/hdas.html (PARTS= names some of source ours shuffles)
	exec tests/bench/hdas $(BUILD) $(PARTS)

$(BUILD)/bench-flow-steps: $(BUILD)/obj/tests/bench/flow_steps_main.o $(call archive,model) $(call archive,engine) $(call archive,mincost) $(call archive,lib)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka -lyaml -ljansson -lxxhash -lsystemd -lm -pthread

.PHONY: bench-flow
bench-flow: $(BUILD)/bench-flow-steps $(BUILD)/duopoly-sim $(BUILD)/tests/test_flow_switch ## place flow beside the schedulers of Sirius's section 5 and ours, misses marked (PARTS= names some of snp image priority steps switch trace; half an hour and more)
	exec tests/bench/flow $(BUILD) $(PARTS)

$(BUILD)/bench-frameworks: $(BUILD)/obj/tests/bench/frameworks_main.o $(foreach a,model engine mincost lib proto,$(call archive,$(a)))
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka -lyaml -ljansson -lxxhash -lsystemd -lprotobuf-nanopb -lzmq -lsodium -lm -pthread

.PHONY: bench-frameworks
bench-frameworks: $(BUILD)/bench-frameworks ## what the facts of a framework's shuffle of 2000 x 2000 cost the engine, and how a fact's cost grows, misses marked (half a minute)
	$(BUILD)/bench-frameworks

# The controller as it would be without its store, to be compared with.
$(BUILD)/bench-no-store/duopolyd: $(BUILD)/obj/controller/main.o $(BUILD)/obj/tests/stand_ins/no_store.o $(foreach a,controller lists engine mincost lib proto,$(call archive,$(a)))
	@mkdir -p $(dir $@)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(WIRE_LIBS) -lyaml -lsqlite3 -lxxhash -lseccomp -lcrypto -lmicrohttpd -pthread

.PHONY: bench-live
bench-live: deps ## strictness, slot latency, CPU time of starts and of the recording, mode switches, what the store adds to both, others' round trips beside hostile peers on this machine beside their bars, misses marked (root, 16 minutes; PARTS= names some)
	@$(MAKE) -s --no-print-directory test-programs $(BUILD)/bench-no-store/duopolyd
	@exec tests/bench/live $(BUILD) $(PARTS)

$(BUILD)/bench-marks: $(BUILD)/obj/tests/bench/marks_main.o
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -lbpf

.PHONY: bench-marks
bench-marks: $(BUILD)/bench-marks ## what the marking programs cost a packet, by its frame (root, 10 seconds)
	$(BUILD)/bench-marks

$(BUILD)/bench-store: $(BUILD)/obj/tests/bench/store_main.o $(foreach a,model controller lists engine mincost lib proto,$(call archive,$(a)))
	$(CC) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS)

.PHONY: bench-store
bench-store: $(BUILD)/bench-store $(BUILD)/duopolyd ## what the store costs on this disk: a small job's answer, completions a second, a start with 10⁶ tasks, beside their bars
	@folder=$$(mktemp -d $$(realpath $(BUILD))/bench-store-XXXXXX) && $(BUILD)/bench-store $(BUILD)/duopolyd $$folder; status=$$?; rm -rf $$folder; exit $$status

.PHONY: bench-spark
bench-spark: deps-spark ## what the plug-in costs a real Spark's tasks, offers, stages and jobs, and agents that only observe, beside their bars, misses marked (root, half an hour; PARTS= names some)
	@$(MAKE) -s --no-print-directory programs spark-plugin
	@exec tests/bench/spark $(BUILD) $(PARTS)

BENCH_DPDK := $(if $(DPDK_LIBS),$(patsubst tests/bench/%_main_dpdk.c,$(BUILD)/bench-%,$(wildcard tests/bench/*_main_dpdk.c)))
$(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/bench/*_main_dpdk.c)): CFLAGS += $(DPDK_CFLAGS) $(LTO)
$(BENCH_DPDK): LDFLAGS += $(LTO:%=% $(OPT))
$(BENCH_DPDK): $(BUILD)/bench-%: $(BUILD)/obj/tests/bench/%_main_dpdk.o $(foreach a,fastpath dataplane lib proto,$(call archive,$(a)))
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(DPDK_LIBS) $(WIRE_LIBS) -lyaml -pthread

.PHONY: bench-dataplane
bench-dataplane: ## what the data plane in user space forwards on one processor, beside testpmd's macswap in the same run, misses marked (make deps-bench, some minutes; PARTS='full cold': those alone)
	@$(MAKE) -s --no-print-directory programs $(BENCH_DPDK)
	@tests/bench/dataplane $(BUILD) $(PARTS)

# A part is tests/bench/switches_NAME_main.c.
BENCH_SWITCHES := $(patsubst tests/bench/switches_%_main.c,$(BUILD)/bench-switches-%,$(wildcard tests/bench/switches_*_main.c))
$(BUILD)/bench-switches-%: $(BUILD)/obj/tests/bench/switches_%_main.o $(foreach a,agent lib proto,$(call archive,$(a)))
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka $(AGENT_LIBS)

BENCH_SWITCHES_PYTHON := $(patsubst tests/bench/switches_%.py,$(BUILD)/bench-switches-%,$(wildcard tests/bench/switches_*.py))
$(BENCH_SWITCHES_PYTHON): $(BUILD)/bench-switches-%: tests/bench/switches_%.py | test-programs
	@ln -sf $(abspath $<) $@

.PHONY: bench-switches
bench-switches: $(BENCH_SWITCHES) $(BENCH_SWITCHES_PYTHON) ## what switch drivers take for a whole switch, after reloads and kills, beside their bars, misses marked (PARTS= names some)
	@exec tests/bench/switches $(BUILD) $(PARTS)

.PHONY: bench-testbed
bench-testbed: programs ## how long networks take to be made, and what policies gain on each of them over seeds, beside their bars (PARTS= names some; NETWORKS SEEDS POLICIES JOBS; an hour)
	@exec tests/bench/testbed $(BUILD) $(PARTS)

.PHONY: bench-testbed-virtual
bench-testbed-virtual: programs deps-virtual ## how far replays in virtual time at 1 Gb/s are from the simulator's, policy by policy, beside the source's bars, misses marked (root; NETWORKS POLICIES SEEDS JOBS; 4 minutes a policy and network)
	@exec tests/bench/testbed $(BUILD) simulation

.PHONY: bench-cli
bench-cli: $(BUILD)/duopolyd $(BUILD)/duopolyctl ## what an operator waits for: lists of 10⁵ and 10⁶ tasks, whole and filtered, others meanwhile, explain beside 10⁵ jobs, a scrape of 10⁴ hosts, 10⁴ events/s beside a reader that sleeps, what top takes, others while the state of 10⁶ tasks is told, beside their bars, misses marked (7 minutes; PARTS='list more explain scrape watch top whatif')
	@exec tests/bench/cli $(BUILD) $(PARTS)
