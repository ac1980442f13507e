# The products. make/tests.mk has the programs that only tests run.
PROGRAMS :=
# $(1) name, $(2) main source, $(3) archives in link order, $(4) libraries, $(5) the list that it joins (PROGRAMS)
define program
ifneq ($(wildcard $(2)),)
$(or $(5),PROGRAMS) += $(BUILD)/$(1)
$(BUILD)/$(1): $(BUILD)/obj/$(2:.c=.o) $(foreach a,$(3),$(call archive,$(a)))
	@mkdir -p $$(dir $$@)
	$(CC) $(if $(filter -static-pie,$(4)),,$(PIE)) $(LDFLAGS) -o $$@ $$< -Wl,--start-group $(foreach a,$(3),$(call archive,$(a))) -Wl,--end-group $(4)
endif
endef
WIRE_LIBS := -lzmq -lprotobuf-nanopb -lsystemd
# Started for each attempt, so loading them must cost little; the sanitizers' libraries cannot be linked in.
STATIC := $(if $(SAN),,-static-pie)
$(eval $(call program,duopolyd,controller/main.c,controller lists engine mincost lib proto,$(WIRE_LIBS) -lyaml -lsqlite3 -lxxhash -lseccomp -lcrypto -lmicrohttpd -pthread))
$(eval $(call program,duopolyctl,controller/cli/main.c,cli lists render lib proto,$(WIRE_LIBS) -lxxhash -lm -lyaml -ljansson -lncursesw -ltinfo))
AGENT_LIBS := $(WIRE_LIBS) -lyaml -ljansson -lhiredis -lssl -lcrypto -lseccomp -lbpf -lnl-route-3 -lnl-3 -lnftnl -lmnl
$(eval $(call program,duopoly-agent,hostagent/main.c,agent lib proto,$(AGENT_LIBS)))
$(eval $(call program,duopoly-task,hostagent/task/main.c,task lib,$(STATIC) -lyaml))
$(eval $(call program,duopoly-sim,testbed/sim/main.c,sim engine mincost lib,-lyaml -ljansson -lm -pthread))
$(eval $(call program,duopoly-workload,testbed/workload/main.c,workload lib,-ljansson -lm))
$(eval $(call program,duopoly-mcmf,controller/mcmf/main.c,mcmf mincost lib,))
$(eval $(call program,duopoly-replay,testbed/replay/driver_main.c,replay lib proto,$(WIRE_LIBS) -ljansson -lxxhash -lm))
$(eval $(call program,replay-map,testbed/replay/task_main.c,replay taskloop lib,$(STATIC) -lxxhash))
$(eval $(call program,replay-reduce,testbed/replay/task_main.c,replay taskloop lib,$(STATIC) -lxxhash))
$(eval $(call program,replay-gpu,testbed/replay/task_main.c,replay taskloop lib,$(STATIC) -lxxhash))
$(eval $(call program,replay-serve,testbed/replay/serve_main.c,replay lib,-lsystemd -lxxhash))
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

.PHONY: all
all: programs ## the products (the default)
	@[ -z "$(LEFT_OUT)" ] || echo "left out, because DPDK is not installed: $(LEFT_OUT), its tests and its benchmark (make deps-dpdk brings it)"

.PHONY: programs
programs: $(PROGRAMS)

.PHONY: spark-plugin
spark-plugin: ## build/duopoly-spark.jar, for Spark 3.5 to 4.2 (Scala 2.13), where Java and Maven are; else says why not
	@/usr/bin/python3 -B -m plugins.spark.build $(BUILD)/duopoly-spark.jar
