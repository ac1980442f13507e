# Every target in one place. `make help` lists them.
#
# A folder is a module: adding a .c file to it adds it to its archive, and a program is its main.c with the archives that it needs.
# Variants go to folders of their own: `make BUILD=build/asan SAN=address,undefined unit`.

.DEFAULT_GOAL := all
BUILD   ?= build
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
CLANG   ?= clang
CXX     := $(if $(filter default,$(origin CXX)),g++,$(CXX))
BPFTOOL := $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
OPT     ?= -O2
SAN     ?=

# What the binaries bear against a bug in them; tests/lint/hardening reads it there. Fortify needs an optimizer, and knows no sanitizer.
HARDEN   := -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
            $(if $(SAN)$(filter -O0,$(OPT)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
WARN     := -Wall -Wextra -Wshadow -Wconversion -Werror
CPPFLAGS += -I. -I$(BUILD)/gen -isystem /usr/include/libnl3 -D_GNU_SOURCE
CFLAGS   += -std=gnu17 $(OPT) -g -fno-omit-frame-pointer $(HARDEN) $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)
LDFLAGS  += -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SAN),-fsanitize=$(SAN))
PIE      := -pie
# Generated code is not held to our warnings.
GENFLAGS := $(filter-out $(WARN),$(CFLAGS)) -w

# ---- what must be installed ------------------------------------------------------------------------------------------------
PACKAGES := $(shell sed 's/\#.*//' packages.txt)

# Whatever is built needs them: said in one sentence instead of by the first program that is not there.
DEPS_FOUND := $(BUILD)/deps-found
$(DEPS_FOUND): packages.txt
	@NO_INSTALL=1 ./install-packages $(PACKAGES)
	@mkdir -p $(dir $@)
	@touch $@

# ---- modules: archive name = the folders whose sources it holds -------------------------------------------------------------
ARCHIVES       := lib engine mincost mcmf plainflow controller render cli agent task sim replay taskloop verify workload dataplane model
DIRS_lib       := lib lib/workload lib/port lib/sonic
DIRS_engine    := controller/engine $(addprefix controller/engine/,base books watch policy turn place commit network mode facts look dump)
DIRS_mincost   := lib/mincost
DIRS_mcmf      := controller/mcmf
DIRS_plainflow := tests/mincost
DIRS_controller := controller controller/agents controller/clients controller/frameworks controller/recording controller/store \
                   controller/switch
DIRS_render    := controller/switch/render
DIRS_cli       := controller/cli
DIRS_agent     := hostagent hostagent/queues hostagent/marks hostagent/tasks hostagent/uplink hostagent/links hostagent/routes \
                   hostagent/frameworks hostagent/guests hostagent/switches hostagent/switches/ovs hostagent/switches/sonic
DIRS_task      := hostagent/task
DIRS_sim       := testbed/sim testbed/sim/network testbed/sim/coflows testbed/sim/cluster
DIRS_replay    := testbed/replay
DIRS_taskloop  := testbed/replay/task_loop
DIRS_verify    := testbed/verify
DIRS_workload  := testbed/workload
DIRS_dataplane := dataplane
# The literal model of the engine and its scripts; only unit tests link it.
DIRS_model     := tests/model
# A program's entry (main.c, *_main.c), kernel code (*.bpf.c) and what DPDK is needed for (*_dpdk.c) stay out of the archives.
sources = $(filter-out %/main.c %_main.c %.bpf.c %_dpdk.c,$(foreach d,$(DIRS_$(1)),$(wildcard $(d)/*.c)))
archive = $(BUILD)/lib$(1).a

# ---- programs: main source, archives in link order, libraries ----------------------------------------------------------------
PROGRAMS :=
# $(1) name, $(2) main source, $(3) archives, $(4) libraries
define program
ifneq ($(wildcard $(2)),)
PROGRAMS += $(BUILD)/$(1)
$(BUILD)/$(1): $(BUILD)/obj/$(2:.c=.o) $(foreach a,$(3),$(call archive,$(a)))
	@mkdir -p $$(dir $$@)
	$(CC) $(if $(filter -static-pie,$(4)),,$(PIE)) $(LDFLAGS) -o $$@ $$< -Wl,--start-group $(foreach a,$(3),$(call archive,$(a))) -Wl,--end-group $(4)
endif
endef
WIRE_LIBS := -lzmq -lprotobuf-nanopb -lsystemd
# Started for each attempt, so loading them must cost little; the sanitizers' libraries cannot be linked in.
STATIC := $(if $(SAN),,-static-pie)
$(eval $(call program,duopolyd,controller/main.c,controller engine lib proto,$(WIRE_LIBS) -lyaml -lsqlite3 -lxxhash -lseccomp -lcrypto -pthread))
$(eval $(call program,duopolyctl,controller/cli/main.c,cli render lib proto,$(WIRE_LIBS) -lxxhash -lm -lyaml -ljansson -lsmartcols))
AGENT_LIBS := $(WIRE_LIBS) -lyaml -ljansson -lsmartcols -lhiredis -lssl -lcrypto -lseccomp -lbpf -lnl-route-3 -lnl-3 -lnftnl -lmnl
$(eval $(call program,duopoly-agent,hostagent/main.c,agent lib proto,$(AGENT_LIBS)))
$(eval $(call program,duopoly-task,hostagent/task/main.c,task lib,$(STATIC) -lyaml))
$(eval $(call program,duopoly-sim,testbed/sim/main.c,sim engine lib,-lyaml -ljansson -lm -pthread))
$(eval $(call program,duopoly-workload,testbed/workload/main.c,workload lib,-ljansson -lm))
$(eval $(call program,duopoly-mcmf,controller/mcmf/main.c,mcmf mincost lib,))
$(eval $(call program,duopoly-replay,testbed/replay/driver_main.c,replay lib proto,$(WIRE_LIBS) -ljansson -lxxhash -lm))
$(eval $(call program,replay-map,testbed/replay/task_main.c,replay taskloop lib,$(STATIC) -lxxhash))
$(eval $(call program,replay-reduce,testbed/replay/task_main.c,replay taskloop lib,$(STATIC) -lxxhash))
$(eval $(call program,replay-serve,testbed/replay/serve_main.c,replay lib,-lsystemd -lxxhash))
$(eval $(call program,tests/agent-driver,tests/net/agent_driver.c,agent lib proto,$(WIRE_LIBS) -ljansson -lhiredis -lbpf -lnl-route-3 -lnl-3 -lnftnl -lmnl))
$(eval $(call program,tests/controller-driver,tests/net/controller_driver.c,lib proto,$(WIRE_LIBS)))
$(eval $(call program,tests/peer-probe,tests/net/peer_probe.c,lib proto,$(WIRE_LIBS)))
$(eval $(call program,tests/bare-router,tests/net/bare_router.c,,-lzmq))
$(eval $(call program,duopoly-verify,testbed/verify/main.c,verify lib proto,$(WIRE_LIBS) -lpcap -lnl-route-3 -lnl-3))
# Only where DPDK is (make deps-dpdk); `make` without it builds everything else.
ifneq ($(shell pkg-config --exists libdpdk 2>/dev/null && echo yes),)
DPDK_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I --cflags-only-other libdpdk))
DPDK_LIBS   := $(shell pkg-config --libs libdpdk)
DPDK_OBJS   := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard dataplane/*_dpdk.c))
$(DPDK_OBJS): CFLAGS += $(DPDK_CFLAGS)
# All that a packet passes is inlined from file to file, in the programs that forward; so it is all made for the processor that DPDK is.
LTO := $(if $(SAN)$(filter clang%,$(notdir $(CC))),,-flto)
$(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard dataplane/*.c)): CFLAGS += $(filter -m%,$(DPDK_CFLAGS)) $(LTO:%=% -ffat-lto-objects)
$(BUILD)/duopoly-fastpath: LDFLAGS += $(LTO:%=% $(OPT))
$(call archive,fastpath): $(DPDK_OBJS)
	@rm -f $@
	$(AR) rcs $@ $^
$(eval $(call program,duopoly-fastpath,dataplane/main.c,fastpath dataplane lib proto,$(DPDK_LIBS) $(WIRE_LIBS) -lyaml -pthread))
else
LEFT_OUT := duopoly-fastpath
endif
# The agent as it would be with another layout of flows: marks are handed over from and to it.
OTHER := $(BUILD)/obj/other-layout
OTHER_MARKS := $(patsubst %.c,$(OTHER)/%.o,$(filter hostagent/marks/%,$(call sources,agent)))
PROGRAMS += $(BUILD)/tests/other-agent
$(BUILD)/tests/other-agent: $(BUILD)/obj/hostagent/main.o $(OTHER_MARKS) $(foreach a,agent lib proto,$(call archive,$(a)))
	@mkdir -p $(dir $@)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< $(OTHER_MARKS) -Wl,--start-group $(foreach a,agent lib proto,$(call archive,$(a))) -Wl,--end-group \
	    $(AGENT_LIBS)

.PHONY: all
all: programs
	@[ -z "$(LEFT_OUT)" ] || echo "left out, because DPDK is not installed: $(LEFT_OUT), its tests and its benchmark (make deps-dpdk brings it)"
.PHONY: programs
programs: $(PROGRAMS)

# ---- generated code ----------------------------------------------------------------------------------------------------------
PROTO_GEN := $(BUILD)/gen/schemas/duopoly.pb
ifneq ($(wildcard schemas/duopoly.proto),)
$(PROTO_GEN).c $(PROTO_GEN).h &: schemas/duopoly.proto $(wildcard schemas/duopoly.options) | $(DEPS_FOUND)
	@mkdir -p $(dir $@)
	nanopb_generator.py -q -D $(BUILD)/gen schemas/duopoly.proto
$(BUILD)/obj/duopoly.pb.o: $(PROTO_GEN).c Makefile
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(GENFLAGS) -c -o $@ $<
$(call archive,proto): $(BUILD)/obj/duopoly.pb.o
	@rm -f $@
	$(AR) rcs $@ $^
GENERATED += $(PROTO_GEN).h
endif
BPF_SRC := $(wildcard hostagent/marks/*.bpf.c)
GENERATED += $(BPF_SRC:%.bpf.c=$(BUILD)/gen/%.skel.h)
$(BUILD)/gen/hostagent/marks/%.bpf.o: hostagent/marks/%.bpf.c $(wildcard hostagent/marks/*.h) | $(DEPS_FOUND)
	@mkdir -p $(dir $@)
	$(CLANG) -target bpf -O2 -g -Wall -Werror -I. -I/usr/include/$(shell gcc -dumpmachine) -c -o $@ $<
$(BUILD)/gen/hostagent/marks/%.skel.h: $(BUILD)/gen/hostagent/marks/%.bpf.o
	@echo '#pragma GCC system_header' >$@.tmp
	$(BPFTOOL) gen skeleton $< name $*_bpf >>$@.tmp
	@mv $@.tmp $@

$(OTHER)/hostagent/marks/mark_abi.h: hostagent/marks/mark_abi.h
	@mkdir -p $(dir $@)
	sed 's/__u64 seen_ns; /__u64 others[2], seen_ns;/' $< >$@
$(OTHER)/%.bpf.o: %.bpf.c $(OTHER)/hostagent/marks/mark_abi.h $(wildcard hostagent/marks/*.h)
	$(CLANG) -target bpf -O2 -g -Wall -Werror -I$(OTHER) -I. -I/usr/include/$(shell gcc -dumpmachine) -c -o $@ $<
$(OTHER)/%.skel.h: $(OTHER)/%.bpf.o
	@echo '#pragma GCC system_header' >$@.tmp
	$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf >>$@.tmp
	@mv $@.tmp $@
$(OTHER)/%.o: %.c Makefile $(OTHER)/hostagent/marks/mark_abi.h | $(GENERATED) $(OTHER)/hostagent/marks/mark.skel.h
	@mkdir -p $(dir $@)
	$(CC) -I$(OTHER) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# ---- objects and archives ----------------------------------------------------------------------------------------------------
# Vectors wider than the processor's are passed between inlined functions only.
$(patsubst %,$(BUILD)/obj/testbed/sim/network/%.o,dense dense_fill dense_avx2): CFLAGS += -Wno-psabi
# rte_red shifts by −1 when a queue has rested for less than some hundred packets, and takes what is right of it.
$(BUILD)/obj/dataplane/queues_red_dpdk.o: CFLAGS += $(if $(findstring undefined,$(SAN)),-fno-sanitize=shift)
# Its flags stand here.
$(BUILD)/obj/%.o: %.c Makefile | $(DEPS_FOUND) $(GENERATED)
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
define archive_rule
$(call archive,$(1)): $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
	@mkdir -p $$(dir $$@)
	@rm -f $$@
	$(AR) rcs $$@ $$^
endef
$(foreach a,$(ARCHIVES),$(eval $(call archive_rule,$(a))))
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# ---- tests -------------------------------------------------------------------------------------------------------------------
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(filter-out $(if $(DPDK_LIBS),,%_dpdk.c),$(wildcard tests/unit/test_*.c))) \
        $(patsubst tests/fuzz/%.c,$(BUILD)/tests/test_%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_ARCHIVES := $(foreach a,model controller cli render agent task sim replay verify workload dataplane engine mincost lib,$(if $(call sources,$(a)),$(call archive,$(a)))) \
                 $(if $(wildcard schemas/duopoly.proto),$(call archive,proto))
TEST_LIBS := -lcmocka -lseccomp -lzmq -lprotobuf-nanopb -lyaml -ljansson -lhiredis -lsmartcols -lbpf -lnl-route-3 -lnl-3 -lnftnl -lmnl -lpcap -lxxhash -lsqlite3 -lsystemd -lssl -lcrypto -lm -pthread
# Only tests and the benchmark know LEMON, the independent solver; it is built as its users build it.
LEMON := $(BUILD)/obj/tests/mincost/lemon.o
$(LEMON): tests/mincost/lemon.cc tests/mincost/plain.h | $(DEPS_FOUND)
	@mkdir -p $(dir $@)
	$(CXX) -I. -O2 -DNDEBUG -g -c -o $@ $<
PLAINFLOW := $(call archive,plainflow) $(LEMON)
$(BUILD)/tests/test_mincost_%: EXTRA = $(PLAINFLOW) -lstdc++
# It counts allocations.
$(BUILD)/tests/test_mincost_promises: EXTRA = $(PLAINFLOW) -lstdc++ -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# The library once more, with hubs of a few arcs; it comes before the archive of the other.
SMALL_HUBS := $(patsubst %.c,$(BUILD)/obj/small-hubs/%.o,$(call sources,mincost))
$(BUILD)/obj/small-hubs/%.o: %.c Makefile
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DMINCOST_SMALL_HUBS -MMD -MP -c -o $@ $<
$(BUILD)/tests/test_mincost_small_hubs: EXTRA = $(SMALL_HUBS) $(PLAINFLOW) -lstdc++
$(BUILD)/tests/test_mincost_small_hubs: $(SMALL_HUBS)
$(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_mincost_*.c)): $(PLAINFLOW)
# The example on this page is compiled as it stands.
$(BUILD)/gen/docs/%.h: docs/%.md
	@mkdir -p $(dir $@)
	@sed -n '/^```c$$/,/^```$$/{/^```/d;p}' $< >$@
$(BUILD)/obj/tests/unit/test_new_policy.o: $(BUILD)/gen/docs/adding-a-policy.h
$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(TEST_ARCHIVES)
	@mkdir -p $(dir $@)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< $(EXTRA) -Wl,--start-group $(TEST_ARCHIVES) -Wl,--end-group $(TEST_LIBS)

# Loaded into tc and dcb, to keep what they send.
$(BUILD)/tests/netlink_spy.so: tests/net/netlink_spy.c Makefile
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) -std=gnu17 -O2 -fPIC -shared $(WARN) -o $@ $< -ldl
$(BUILD)/tests/test_mqprio: | $(BUILD)/tests/netlink_spy.so

# Its netlink sockets go nowhere.
$(BUILD)/tests/test_fuzz_netlink $(BUILD)/fuzz_netlink: EXTRA = -Wl,--wrap=nl_connect
$(BUILD)/tests/test_fuzz_nft $(BUILD)/fuzz_nft: EXTRA = $(foreach f,sendto recvfrom,-Wl,--wrap=mnl_socket_$(f))
# What it keeps on a disk it keeps in memory, and its time is the target's.
$(BUILD)/tests/test_fuzz_uplink $(BUILD)/fuzz_uplink: EXTRA = $(foreach f,files_read files_overwrite clock_gettime,-Wl,--wrap=$(f))
# Their large structures are kept from one input to the next (tests/fuzz/kept.h).
KEPT := $(foreach f,malloc calloc realloc reallocarray free,-Wl,--wrap=$(f))
$(foreach t,agents frameworks,$(BUILD)/tests/test_fuzz_$(t) $(BUILD)/fuzz_$(t)): EXTRA = $(KEPT)
NO_STORE := $(BUILD)/obj/tests/stand_ins/no_store.o
$(BUILD)/tests/test_fuzz_requests $(BUILD)/fuzz_requests: EXTRA = $(NO_STORE) $(KEPT) -Wl,--wrap=time
$(BUILD)/tests/test_fuzz_requests $(BUILD)/fuzz_requests: $(NO_STORE)
$(BUILD)/tests/test_fuzz_redis $(BUILD)/fuzz_redis: EXTRA = $(foreach f,say hear,-Wl,--wrap=redis_$(f))
# What they hear is the fuzzer's.
$(foreach t,ovsdb openflow,$(BUILD)/tests/test_fuzz_$(t) $(BUILD)/fuzz_$(t)): \
    EXTRA = $(foreach f,read write wait where,-Wl,--wrap=stream_$(f))
# Replays the seeds of a fuzz target.
$(BUILD)/tests/test_fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/replay.o $(TEST_ARCHIVES)
	@mkdir -p $(dir $@)
	$(CC) $(LDFLAGS) -o $@ $< $(BUILD)/obj/tests/fuzz/replay.o $(EXTRA) -Wl,--start-group $(TEST_ARCHIVES) -Wl,--end-group $(TEST_LIBS)

# In the place of libsystemd's.
TASKLOOP := $(call archive,taskloop)
$(BUILD)/tests/test_task_loop: EXTRA = $(TASKLOOP)
$(BUILD)/tests/test_task_loop: $(TASKLOOP)

# With DPDK itself.
$(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/unit/test_*_dpdk.c)): CFLAGS += $(DPDK_CFLAGS)
$(BUILD)/tests/test_queues_red_dpdk: EXTRA = $(call archive,fastpath) $(DPDK_LIBS)
$(BUILD)/tests/test_queues_red_dpdk: $(call archive,fastpath)

TEST_DPDK := test_conformance test_marking test_flows test_kept test_queues test_queues_red_dpdk test_plane_ports test_switching test_fuzz_frame test_fuzz_fastpath

.PHONY: unit-programs
unit-programs: $(UNIT)

.PHONY: unit
unit: $(UNIT) $(BUILD)/duopolyd ## builds and runs the unit tests of one variant
	tests/run-unit $(BUILD) $(UNIT)

.PHONY: soak
soak: $(UNIT) $(BUILD)/duopolyd ## the unit tests again under SEEDS= (20) seeds drawn from the time
	for i in $$(seq $(or $(SEEDS),20)); do \
	    TEST_SEED=$$(($$(date +%s) * 1000 + i)) tests/run-unit $(BUILD) $(UNIT) || exit 1; done

.PHONY: bench-sim
bench-sim: $(BUILD)/duopoly-sim $(BUILD)/duopoly-workload ## the simulator's bars on the Facebook trace (FB_TRACE=) and its growth up to SERVERS= (300), misses marked
	tests/bench/sim $(BUILD)

.PHONY: bench-policy
bench-policy: $(BUILD)/duopoly-sim ## POLICY= (joint) beside the source's readings over SETTINGS= (all) of the Facebook trace (FB_TRACE=), misses marked (half an hour and more)
	tests/bench/policy $(BUILD) $(or $(POLICY),joint) $(SETTINGS)

$(BUILD)/bench-mcmf: $(BUILD)/obj/tests/mincost/bench_main.o $(PLAINFLOW) $(call archive,mincost)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $^ -lstdc++ -lm

.PHONY: bench-mcmf
bench-mcmf: $(BUILD)/bench-mcmf ## minimum-cost flow against LEMON; says which targets are missed
	$(BUILD)/bench-mcmf

$(BUILD)/bench-engine: $(BUILD)/obj/tests/bench/engine_main.o $(call archive,model) $(call archive,engine) $(call archive,mincost) $(call archive,lib)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka -lyaml -ljansson -lxxhash -lsystemd -lm -pthread

BEFORE ?= HEAD~1
.PHONY: bench-engine
bench-engine: $(BUILD)/bench-engine ## the engine's decisions a second, p99 of a step and growth under duopoly and joint, and beside BEFORE (the commit before), misses marked (four minutes on an idle machine)
	missed=0; $(BUILD)/bench-engine $(STEPS) || missed=1; \
	tests/bench/engine_before.py $(BUILD)/bench-engine $(BEFORE) $(BUILD)/before && exit $$missed

$(BUILD)/bench-frameworks: $(BUILD)/obj/tests/bench/frameworks_main.o $(foreach a,model engine mincost lib proto,$(call archive,$(a)))
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lcmocka -lyaml -ljansson -lxxhash -lsystemd -lprotobuf-nanopb -lzmq -lsodium -lm -pthread

.PHONY: bench-frameworks
bench-frameworks: $(BUILD)/bench-frameworks ## what the facts of a framework's shuffle of 2000 x 2000 cost the engine, and how a fact's cost grows, misses marked (half a minute)
	$(BUILD)/bench-frameworks

# The controller as it would be without its store, to be compared with.
$(BUILD)/bench-no-store/duopolyd: $(BUILD)/obj/controller/main.o $(BUILD)/obj/tests/stand_ins/no_store.o $(foreach a,controller engine lib proto,$(call archive,$(a)))
	@mkdir -p $(dir $@)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(WIRE_LIBS) -lyaml -lsqlite3 -lxxhash -lseccomp -lcrypto -pthread

.PHONY: bench-live
bench-live: deps ## strictness, slot latency, CPU time of starts and of the recording, mode switches, what the store adds to both, others' round trips beside hostile peers on this machine beside their bars, misses marked (root, 16 minutes; PARTS= names some)
	@$(MAKE) -s --no-print-directory programs $(BUILD)/bench-no-store/duopolyd
	@exec tests/bench/live $(BUILD) $(PARTS)

$(BUILD)/bench-marks: $(BUILD)/obj/tests/bench/marks_main.o
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< -lbpf

.PHONY: bench-marks
bench-marks: $(BUILD)/bench-marks ## what the marking programs cost a packet, by its frame (root, 10 seconds)
	$(BUILD)/bench-marks

$(BUILD)/bench-store: $(BUILD)/obj/tests/bench/store_main.o $(foreach a,model controller engine lib proto,$(call archive,$(a)))
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
$(BENCH_SWITCHES_PYTHON): $(BUILD)/bench-switches-%: tests/bench/switches_%.py | programs
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

.PHONY: check
check: programs ## the checks that run nothing: include directions, format, one owner per symbol, hardened programs
	tests/lint/includes
	tests/lint/circles
	tests/lint/policies
	tests/lint/names
	tests/lint/kinds
	tests/lint/paths
	tests/lint/format
	tests/lint/symbols $(BUILD)/lib*.a
	tests/lint/hardening $(BUILD)

# A fuzz target is tests/fuzz/fuzz_NAME.c with seeds in tests/fuzz/NAME; whose inputs may be longer than 4096 bytes says so here.
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LONGEST_wire := 65537
FUZZ_LONGEST_dump := 16384
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

.PHONY: deps
deps: ## installs what is missing (NO_INSTALL=1: only says what is missing)
	@./install-packages $(PACKAGES)

# Where these cannot be had their tests are skipped.
.PHONY: deps-test
deps-test: deps ## installs the foreign programs that tests work with
	@./install-packages $$(sed 's/#.*//' tests/packages.txt testbed/mininet/packages.txt) || true

.PHONY: deps-mininet
deps-mininet: deps ## installs what NET=mininet and scripts for Mininet need
	@./install-packages $$(sed 's/#.*//' testbed/mininet/packages.txt)

.PHONY: deps-guest
deps-guest: deps ## installs what tests in guests need (90 MB to fetch, 330 MB on disk): packages, and a kernel unpacked below build/guest
	@./install-packages $$(sed 's/#.*//' testbed/guest/packages.txt) && { [ -n "$(NO_INSTALL)" ] || testbed/guest/fetch-kernel $(BUILD)/guest/kernel; } || true

.PHONY: test-guest
test-guest: deps-guest ## runs the tests marked for other kernels in guests: KERNELS= (uml qemu), TESTS= (files of tests/net, their ids, unit tests' programs)
	@$(MAKE) -s --no-print-directory programs unit-programs
	@for kernel in $(or $(KERNELS),uml qemu); do tests/run-guest $$kernel $(TESTS) || failed=1; done; [ -z "$$failed" ]

.PHONY: deps-virtual
deps-virtual: deps ## installs what the kernel for virtual time is built with, and builds it once (140 MB to fetch, some minutes, 2 GB on disk meanwhile)
	@./install-packages $$(sed 's/#.*//' testbed/guest/virtual/packages.txt) && { [ -n "$(NO_INSTALL)" ] || exec /usr/bin/python3 -B -m testbed.guest.virtual.kernel; }

.PHONY: test-virtual
test-virtual: deps-virtual ## runs the tests in virtual time (root, under 45 minutes): networks whose clock moves when all wait
	@$(MAKE) -s --no-print-directory programs unit-programs
	@GUEST_TIMEOUT=$${GUEST_TIMEOUT:-2400} tests/run-guest virtual $(TESTS)
	@BUILD=$(BUILD) /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/net/test_virtual.py

.PHONY: deps-dpdk
deps-dpdk: deps ## installs what the data plane in user space is built with (DPDK 22.11: 200 packages); without it the rest builds
	@./install-packages $$(sed 's/#.*//' dataplane/packages.txt) || true

.PHONY: deps-bench
deps-bench: deps-dpdk ## installs the programs that make bench-dataplane compares with
	@./install-packages $$(sed 's/#.*//' tests/bench/packages.txt) || true

.PHONY: test-dpdk
test-dpdk: deps-dpdk ## runs the tests of the data plane in user space (root), also with the sanitizers
	@$(MAKE) -s --no-print-directory programs $(addprefix $(BUILD)/tests/,$(TEST_DPDK))
	@$(MAKE) -s --no-print-directory BUILD=$(BUILD)/asan SAN=address,undefined OPT=-O1 programs
	@tests/run-unit $(BUILD) $(addprefix $(BUILD)/tests/,$(TEST_DPDK))
	@for build in $(BUILD) $(BUILD)/asan; do BUILD=$$build /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/net/test_fastpath.py tests/net/test_fastpath_switch.py || exit 1; done

.PHONY: soak-dataplane
soak-dataplane: programs ## PACKETS= (10⁹) through the data plane while flows, modes and leases change: none is lost or made up (root, some minutes)
	@PACKETS=$(or $(PACKETS),1000000000) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/net/test_fastpath.py tests/net/test_fastpath_switch.py -k nothing_is_lost

SPARK := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/duopoly/pyspark
.PHONY: deps-spark
deps-spark: deps ## installs what the plug-in for Spark is built and tested with: Java 17, Maven, and Spark itself below ~/.cache/duopoly (455 MB to fetch)
	@./install-packages $$(sed 's/#.*//' plugins/spark/packages.txt) && { [ -n "$(NO_INSTALL)" ] || cmp -s plugins/spark/requirements.txt $(SPARK)/requirements.txt || \
		{ echo "installing Spark below $(SPARK)"; rm -rf $(SPARK).part; /usr/bin/python3 -m pip install -q --root-user-action=ignore --no-deps --no-cache-dir --require-hashes --target $(SPARK).part -r plugins/spark/requirements.txt && \
		cp plugins/spark/requirements.txt $(SPARK).part && rm -rf $(SPARK) && mv $(SPARK).part $(SPARK); }; } || true

.PHONY: spark-plugin
spark-plugin: ## build/duopoly-spark.jar, for Spark 3.5 to 4.2 (Scala 2.13), where Java and Maven are; else says why not
	@/usr/bin/python3 -B -m plugins.spark.build $(BUILD)/duopoly-spark.jar

.PHONY: test-frameworks
test-frameworks: deps-spark ## runs the tests of the plug-in in a real Spark, also while programs die or stand still (root, 10 minutes)
	@$(MAKE) -s --no-print-directory programs spark-plugin
	@BUILD=$(BUILD) /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/net/test_spark*.py

.PHONY: test
test: deps deps-test deps-guest deps-dpdk ## installs what is missing, builds every variant and runs all tests
	@BUILD=$(BUILD) tests/run

.PHONY: test-flakes
test-flakes: programs ## runs quick tests of tests/net, or those of TESTS=, TIMES= (20) times and says which did not pass each time; best on a busy machine (root, hours)
	@tests/flakes $(or $(TIMES),20) $(TESTS)

.PHONY: test-faults
test-faults: deps ## kills in real time under sanitizers: each promise's own, then SCHEDULES= (50) random ones in a row, or HOURS= of them (root)
	@tests/run-faults $(BUILD)

.PHONY: test-hostile
test-hostile: deps ## a hostile program per role beside a normal load for HOSTILE_SECONDS (3600) under HOSTILE_SEED, and what others notice (root; HOSTILE_MOVES= (names, with commas) HOSTILE_ROLES= names some, HOSTILE_KEYS=no)
	@$(MAKE) -s --no-print-directory programs
	@BUILD=$(BUILD) exec /usr/bin/python3 -B -m tests.hostile.run

# `exec`: make itself is then the parent that the testbed watches. -B: no files beside the sources.
PYTHON := exec /usr/bin/python3 -B
export BUILD

.PHONY: demo
demo: deps $(patsubst %,deps-%,$(filter mininet spark,$(NET))) ## replays a workload under four policies here (root): TRACE JOBS SPEED CAP SCALE LINK HOSTS SLOTS SEED COMPUTE POLICIES NET TOPO RACKS SPINES OVERSUB
	@$(MAKE) -s --no-print-directory programs $(if $(filter spark,$(NET)),spark-plugin)
	@$(PYTHON) -m testbed.demo.demo

.PHONY: up
up: deps ## leaves a testbed standing, with its daemons, under a repeating load (root)
	@$(MAKE) -s --no-print-directory programs
	@$(PYTHON) -m testbed.demo.standing up

.PHONY: down
down: ## ends what make up left standing
	@$(PYTHON) -m testbed.demo.standing down

.PHONY: soak-live
soak-live: deps ## the load of make up for MINUTES (60) with a random kill every KILL_EVERY (20) s under SEED, then whether all ended well (root)
	@$(MAKE) -s --no-print-directory programs
	@$(PYTHON) -m testbed.demo.soak

# Units name /usr; a configuration that is there stays.
PREFIX ?= /usr
INSTALL_sbin := $(filter-out $(LEFT_OUT),duopolyd duopoly-agent duopoly-task duopoly-fastpath)
INSTALL_bin  := duopolyctl duopoly-sim duopoly-workload duopoly-verify duopoly-mcmf duopoly-replay
INSTALL_lib  := replay-map replay-reduce replay-serve
INSTALL_units := $(filter-out $(LEFT_OUT:%=packaging/%.service),$(wildcard packaging/*.service packaging/*.socket))
INSTALL_conf := $(filter-out $(LEFT_OUT:%=schemas/%.yaml),schemas/duopolyd.yaml packaging/duopoly-agent.yaml schemas/duopoly-fastpath.yaml)
.PHONY: install
install: programs ## puts programs, units, users, and configurations where there are none below DESTDIR= and PREFIX= (/usr)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,sbin bin lib/duopoly lib/systemd/system lib/sysusers.d lib/tmpfiles.d) $(DESTDIR)/etc/duopoly
	install $(addprefix $(BUILD)/,$(INSTALL_sbin)) $(DESTDIR)$(PREFIX)/sbin
	install $(addprefix $(BUILD)/,$(INSTALL_bin)) $(DESTDIR)$(PREFIX)/bin
	install $(addprefix $(BUILD)/,$(INSTALL_lib)) $(DESTDIR)$(PREFIX)/lib/duopoly
	for unit in $(INSTALL_units); do \
	    sed 's|/usr/|$(PREFIX)/|' $$unit >$(DESTDIR)$(PREFIX)/lib/systemd/system/$${unit##*/} || exit 1; done
	install -m 644 packaging/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/duopoly.conf
	install -m 644 packaging/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/duopoly.conf
	$(PYTHON) packaging/install-docs $(DESTDIR)$(PREFIX)/share/doc/duopoly
	for file in $(INSTALL_conf); do \
	    [ -e $(DESTDIR)/etc/duopoly/$${file##*/} ] || sed 's|/usr/|$(PREFIX)/|' $$file >$(DESTDIR)/etc/duopoly/$${file##*/} || exit 1; done

.PHONY: format
format: ## formats the C sources in place
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: clean
clean: ## removes what was built
	rm -rf build

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16
