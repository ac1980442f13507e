# Objects and archives.

# Where the flags of objects stand.
FLAGS_IN := make/flags.mk make/objects.mk make/programs.mk

# Vectors wider than the processor's are passed between inlined functions only.
$(patsubst %,$(BUILD)/obj/testbed/sim/network/%.o,dense dense_fill dense_avx2): CFLAGS += -Wno-psabi
# rte_red shifts by −1 when a queue has rested for less than some hundred packets, and takes what is right of it.
$(BUILD)/obj/dataplane/queues_red_dpdk.o: CFLAGS += $(if $(findstring undefined,$(SAN)),-fno-sanitize=shift)

$(BUILD)/obj/%.o: %.c $(FLAGS_IN) | $(DEPS_FOUND) $(GENERATED)
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

define archive_rule
$(call archive,$(1)): $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
	@mkdir -p $$(dir $$@)
	@rm -f $$@
	$(AR) rcs $$@ $$^
endef
$(foreach a,$(ARCHIVES),$(eval $(call archive_rule,$(a))))
# WHY: an object that only a pattern names would be removed after its program is linked, and the next make, which finds it in a .d file,
# would make it again and link anew.
.SECONDARY:
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
