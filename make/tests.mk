# What tests run: unit tests' programs, replays of fuzz seeds, and what stands in for others in tests/net.
$(eval $(call program,tests/agent-driver,tests/net/agent_driver.c,agent lib proto,$(WIRE_LIBS) -ljansson -lhiredis -lbpf -lnl-route-3 -lnl-3 -lnftnl -lmnl,TEST_PROGRAMS))
$(eval $(call program,tests/controller-driver,tests/net/controller_driver.c,lib proto,$(WIRE_LIBS),TEST_PROGRAMS))
$(eval $(call program,tests/peer-probe,tests/net/peer_probe.c,lib proto,$(WIRE_LIBS),TEST_PROGRAMS))
$(eval $(call program,tests/bare-router,tests/net/bare_router.c,,-lzmq,TEST_PROGRAMS))

# The agent as it would be with another layout of flows: marks are handed over from and to it.
OTHER := $(BUILD)/obj/other-layout
OTHER_MARKS := $(patsubst %.c,$(OTHER)/%.o,$(filter hostagent/marks/%,$(call sources,agent)))
TEST_PROGRAMS += $(BUILD)/tests/other-agent
$(BUILD)/tests/other-agent: $(BUILD)/obj/hostagent/main.o $(OTHER_MARKS) $(foreach a,agent lib proto,$(call archive,$(a)))
	@mkdir -p $(dir $@)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< $(OTHER_MARKS) -Wl,--start-group $(foreach a,agent lib proto,$(call archive,$(a))) -Wl,--end-group \
	    $(AGENT_LIBS)
$(OTHER)/hostagent/marks/mark_abi.h: hostagent/marks/mark_abi.h
	@mkdir -p $(dir $@)
	sed 's/__u64 seen_ns; /__u64 others[2], seen_ns;/' $< >$@
$(OTHER)/%.bpf.o: %.bpf.c $(OTHER)/hostagent/marks/mark_abi.h $(wildcard hostagent/marks/*.h)
	$(CLANG) -target bpf -O2 -g -Wall -Werror -I$(OTHER) -I. -I/usr/include/$(shell gcc -dumpmachine) -c -o $@ $<
$(OTHER)/%.skel.h: $(OTHER)/%.bpf.o
	@echo '#pragma GCC system_header' >$@.tmp
	$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf >>$@.tmp
	@mv $@.tmp $@
$(OTHER)/%.o: %.c $(FLAGS_IN) $(OTHER)/hostagent/marks/mark_abi.h | $(GENERATED) $(OTHER)/hostagent/marks/mark.skel.h
	@mkdir -p $(dir $@)
	$(CC) -I$(OTHER) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(filter-out $(if $(DPDK_LIBS),,%_dpdk.c),$(wildcard tests/unit/test_*.c))) \
        $(patsubst tests/fuzz/%.c,$(BUILD)/tests/test_%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_ARCHIVES := $(foreach a,model controller cli lists render agent task sim replay verify workload dataplane engine mincost lib,$(if $(call sources,$(a)),$(call archive,$(a)))) \
                 $(if $(wildcard schemas/duopoly.proto),$(call archive,proto))
TEST_LIBS := -lcmocka -lseccomp -lzmq -lprotobuf-nanopb -lyaml -ljansson -lhiredis -lbpf -lnl-route-3 -lnl-3 -lnftnl -lmnl -lpcap -lxxhash -lsqlite3 -lsystemd -lssl -lcrypto -lmicrohttpd -lncursesw -ltinfo -lm -pthread
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
$(BUILD)/obj/small-hubs/%.o: %.c $(FLAGS_IN)
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DMINCOST_SMALL_HUBS -MMD -MP -c -o $@ $<
$(BUILD)/tests/test_mincost_small_hubs: EXTRA = $(SMALL_HUBS) $(PLAINFLOW) -lstdc++
$(BUILD)/tests/test_mincost_small_hubs: $(SMALL_HUBS)
$(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_mincost_*.c)): $(PLAINFLOW)
# The example on this page is compiled as it stands.
$(GEN)/docs/%.h: docs/%.md
	@mkdir -p $(dir $@)
	@sed -n '/^```c$$/,/^```$$/{/^```/d;p}' $< >$@
$(BUILD)/obj/tests/unit/test_new_policy.o: $(patsubst %.md,$(GEN)/%.h,$(wildcard docs/adding-a-policy.md docs/*/adding-a-policy.md))
$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(TEST_ARCHIVES)
	@mkdir -p $(dir $@)
	$(CC) $(PIE) $(LDFLAGS) -o $@ $< $(EXTRA) -Wl,--start-group $(TEST_ARCHIVES) -Wl,--end-group $(TEST_LIBS)

# Loaded into tc and dcb, to keep what they send.
$(BUILD)/tests/netlink_spy.so: tests/net/netlink_spy.c make/flags.mk make/tests.mk
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) -std=gnu17 -O2 -fPIC -shared $(WARN) -o $@ $< -ldl
$(BUILD)/tests/test_mqprio: | $(BUILD)/tests/netlink_spy.so

# The list is scripted; and who asks for it.
$(BUILD)/tests/test_paging: EXTRA = -Wl,--wrap=listing_page
$(BUILD)/tests/test_list_waits: EXTRA = $(foreach f,listing_page control_sources control_answer control_hold control_release conductor_watch conductor_watched,-Wl,--wrap=$(f))

# The socket is scripted.
$(BUILD)/tests/test_holds: EXTRA = -Wl,--wrap=wire_unix_hold

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

TEST_DPDK := test_conformance test_marking test_flows test_kept test_queues test_queues_red_dpdk test_port_message test_switching test_fuzz_frame test_fuzz_fastpath

# What tests/net runs.
.PHONY: test-programs
test-programs: programs $(TEST_PROGRAMS)

# What all tests run.
.PHONY: unit-programs
unit-programs: test-programs $(UNIT)
