# What must be installed: packages.txt of each part names the Debian packages, one a line.
PACKAGES := $(shell sed 's/\#.*//' packages.txt)

# Whatever is built needs them: said in one sentence instead of by the first program that is not there.
DEPS_FOUND := $(BUILD)/deps-found
$(DEPS_FOUND): packages.txt
	@NO_INSTALL=1 ./install-packages $(PACKAGES)
	@mkdir -p $(dir $@)
	@touch $@

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

.PHONY: deps-virtual
deps-virtual: deps ## installs what the kernel for virtual time is built with, and builds it once (140 MB to fetch, some minutes, 2 GB on disk meanwhile)
	@./install-packages $$(sed 's/#.*//' testbed/guest/virtual/packages.txt) && { [ -n "$(NO_INSTALL)" ] || exec /usr/bin/python3 -B -m testbed.guest.virtual.kernel; }

.PHONY: deps-dpdk
deps-dpdk: deps ## installs what the data plane in user space is built with (DPDK 22.11: 200 packages); without it the rest builds
	@./install-packages $$(sed 's/#.*//' dataplane/packages.txt) || true

.PHONY: deps-bench
deps-bench: deps-dpdk ## installs the programs that make bench-dataplane compares with
	@./install-packages $$(sed 's/#.*//' tests/bench/packages.txt) || true

SPARK := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/duopoly/pyspark
.PHONY: deps-spark
deps-spark: deps ## installs what the plug-in for Spark is built and tested with: Java 17, Maven, and Spark itself below ~/.cache/duopoly (455 MB to fetch)
	@./install-packages $$(sed 's/#.*//' plugins/spark/packages.txt) && { [ -n "$(NO_INSTALL)" ] || cmp -s plugins/spark/requirements.txt $(SPARK)/requirements.txt || \
		{ echo "installing Spark below $(SPARK)"; rm -rf $(SPARK).part; /usr/bin/python3 -m pip install -q --root-user-action=ignore --no-deps --no-cache-dir --require-hashes --target $(SPARK).part -r plugins/spark/requirements.txt && \
		cp plugins/spark/requirements.txt $(SPARK).part && rm -rf $(SPARK) && mv $(SPARK).part $(SPARK); }; } || true
