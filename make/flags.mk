# Compilers, and what every object is built with.
BUILD   ?= build
# What is generated is the same in each variant.
GEN     ?= $(BUILD)/gen
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
CLANG   ?= clang
CXX     := $(if $(filter default,$(origin CXX)),g++,$(CXX))
BPFTOOL := $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
OPT     ?= -O2
DEBUG   ?= -g
SAN     ?=

# What the binaries bear against a bug in them; tests/lint/hardening reads it there. Fortify needs an optimizer, and knows no sanitizer.
HARDEN   := -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
            $(if $(SAN)$(filter -O0,$(OPT)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
WARN     := -Wall -Wextra -Wshadow -Wconversion -Werror
CPPFLAGS += -I. -I$(GEN) -isystem /usr/include/libnl3 -D_GNU_SOURCE $(if $(SAN)$(filter -O0,$(OPT)),-DCHECK_INVARIANTS)
CFLAGS   += -std=gnu17 $(OPT) $(DEBUG) -fno-omit-frame-pointer $(HARDEN) $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)
LDFLAGS  += -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SAN),-fsanitize=$(SAN))
PIE      := -pie
# Generated code is not held to our warnings.
GENFLAGS := $(filter-out $(WARN),$(CFLAGS)) -w
