# Installation.
# Units name /usr; a configuration that is there stays.
PREFIX ?= /usr
INSTALL_sbin := $(filter-out $(LEFT_OUT),duopolyd duopoly-agent duopoly-task duopoly-fastpath)
INSTALL_bin  := duopolyctl duopoly-sim duopoly-workload duopoly-verify duopoly-mcmf duopoly-replay
INSTALL_lib  := replay-map replay-reduce replay-gpu replay-serve
INSTALL_units := $(filter-out $(LEFT_OUT:%=packaging/%.service),$(wildcard packaging/*.service packaging/*.socket))
INSTALL_conf := $(filter-out $(LEFT_OUT:%=schemas/%.yaml),schemas/duopolyd.yaml packaging/duopoly-agent.yaml schemas/duopoly-fastpath.yaml)
.PHONY: install
install: programs ## puts programs, units, users, and configurations where there are none below DESTDIR= and PREFIX= (/usr)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,sbin bin lib/duopoly share/duopoly share/man/man1 \
	    share/bash-completion/completions share/zsh/site-functions lib/systemd/system lib/sysusers.d lib/tmpfiles.d) $(DESTDIR)/etc/duopoly
	install $(addprefix $(BUILD)/,$(INSTALL_sbin)) $(DESTDIR)$(PREFIX)/sbin
	install $(addprefix $(BUILD)/,$(INSTALL_bin)) $(DESTDIR)$(PREFIX)/bin
	install $(addprefix $(BUILD)/,$(INSTALL_lib)) $(DESTDIR)$(PREFIX)/lib/duopoly
	$(BUILD)/duopolyctl --print man >$(DESTDIR)$(PREFIX)/share/man/man1/duopolyctl.1
	$(BUILD)/duopolyctl --print bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/duopolyctl
	$(BUILD)/duopolyctl --print zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_duopolyctl
	for unit in $(INSTALL_units); do \
	    sed 's|/usr/|$(PREFIX)/|' $$unit >$(DESTDIR)$(PREFIX)/lib/systemd/system/$${unit##*/} || exit 1; done
	install -m 644 packaging/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/duopoly.conf
	install -m 644 packaging/duopoly-alerts.yaml $(DESTDIR)$(PREFIX)/share/duopoly
	install -m 644 packaging/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/duopoly.conf
	$(PYTHON) packaging/install-docs $(DESTDIR)$(PREFIX)/share/doc/duopoly
	for file in $(INSTALL_conf); do \
	    [ -e $(DESTDIR)/etc/duopoly/$${file##*/} ] || sed 's|/usr/|$(PREFIX)/|' $$file >$(DESTDIR)/etc/duopoly/$${file##*/} || exit 1; done
