# Generated code: the protocol's messages, and the eBPF programs with their skeletons.
PROTO_GEN := $(GEN)/schemas/duopoly.pb
ifneq ($(wildcard schemas/duopoly.proto),)
$(PROTO_GEN).c $(PROTO_GEN).h &: schemas/duopoly.proto $(wildcard schemas/duopoly.options) | $(DEPS_FOUND)
	@mkdir -p $(dir $@)
	nanopb_generator.py -q -D $(GEN) schemas/duopoly.proto
$(BUILD)/obj/duopoly.pb.o: $(PROTO_GEN).c make/flags.mk
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(GENFLAGS) -c -o $@ $<
$(call archive,proto): $(BUILD)/obj/duopoly.pb.o
	@rm -f $@
	$(AR) rcs $@ $^
GENERATED += $(PROTO_GEN).h
endif
BPF_SRC := $(wildcard hostagent/marks/*.bpf.c)
GENERATED += $(BPF_SRC:%.bpf.c=$(GEN)/%.skel.h)
$(GEN)/hostagent/marks/%.bpf.o: hostagent/marks/%.bpf.c $(wildcard hostagent/marks/*.h) | $(DEPS_FOUND)
	@mkdir -p $(dir $@)
	$(CLANG) -target bpf -O2 -g -Wall -Werror -I. -I/usr/include/$(shell gcc -dumpmachine) -c -o $@ $<
$(GEN)/hostagent/marks/%.skel.h: $(GEN)/hostagent/marks/%.bpf.o
	@echo '#pragma GCC system_header' >$@.tmp
	$(BPFTOOL) gen skeleton $< name $*_bpf >>$@.tmp
	@mv $@.tmp $@
