# sbx: see "make help". Everything that is made lies under build/.

VERSION := 0.1.0
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BUILD ?= build

CC ?= gcc
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
# WERROR=1 (set on CI) makes warnings errors.
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum \
	-Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wformat-nonliteral \
	-Wno-gnu-zero-variadic-macro-arguments
ifdef CI
WERROR ?= 1
endif
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE -ftrivial-auto-var-init=zero
FORTIFY := -D_FORTIFY_SOURCE=2
LDHARDEN := -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed
ALL_CPPFLAGS = -D_GNU_SOURCE -DSBX_VERSION='"$(VERSION)"' -Isrc $(CPPFLAGS)
ALL_CFLAGS = -std=gnu11 $(WARN) $(if $(WERROR),-Werror) $(HARDEN) $(CFLAGS)
CJSON_CFLAGS = $(shell $(PKG_CONFIG) --cflags libcjson 2>/dev/null)
LIBS = $(shell $(PKG_CONFIG) --libs libcjson 2>/dev/null || echo -lcjson)

TOOLS := sbx-plan sbx-exec
BINS := $(TOOLS:%=$(BUILD)/%)
LIB_SRC := $(filter-out $(TOOLS:%=src/cmd/%.c),$(sort $(wildcard src/*/*.c)))
BUILTINS := $(sort $(wildcard policies/*.json))
TEST_LIB_SRC := $(sort $(wildcard tests/lib/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
HELPER_SRC := $(sort $(wildcard tests/hostile/*.c tests/integration/*.c))
SCRIPTS := $(sort $(wildcard tests/integration/*.t))
PAGES := $(sort $(wildcard docs/*.[1-8]))

# Unit tests are built apart, with sanitizers.
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
objs = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2)) $(BUILD)/$(1)/builtin.o
LIB_OBJ := $(call objs,obj,$(LIB_SRC))
SAN_OBJ := $(call objs,san,$(LIB_SRC) $(TEST_LIB_SRC))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)
HELPER_BIN := $(patsubst tests/%.c,$(BUILD)/tests/%,$(HELPER_SRC))

.PHONY: all demo check check-all check-unit lint bench install uninstall cover clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BINS) ## build sbx-plan and sbx-exec

$(BUILD)/libsbx.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $(LIB_OBJ)

$(BINS): $(BUILD)/%: $(BUILD)/obj/src/cmd/%.o $(BUILD)/libsbx.a
	$(CC) $(ALL_CFLAGS) $(LDHARDEN) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(FORTIFY) $(CJSON_CFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) -Itests $(CJSON_CFLAGS) $(ALL_CFLAGS) $(SAN) -MMD -MP -c -o $@ $<

# The built-in policies as C strings.
$(BUILD)/builtin.c: $(BUILTINS) Makefile
	@mkdir -p $(@D)
	{ echo '#include "policy/builtin.h"'; echo 'const struct builtin policy_builtins[] = {'; \
	for f in $(BUILTINS); do \
		printf '\t{"%s",\n' "$$(basename $$f .json)"; \
		sed -e 's/[\\"]/\\&/g' -e 's/^/\t "/' -e 's/$$/\\n"/' $$f; echo '},'; \
	done; echo '	{0, 0}};'; } >$@

$(BUILD)/obj/builtin.o: $(BUILD)/builtin.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -Wno-overlength-strings -MMD -MP -c -o $@ $<

$(BUILD)/san/builtin.o: $(BUILD)/builtin.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SAN) -Wno-overlength-strings -MMD -MP -c -o $@ $<

$(UNIT_BIN): $(BUILD)/unit/%: $(BUILD)/san/tests/unit/%.o $(SAN_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SAN) $(LDFLAGS) -o $@ $^ $(LIBS)

# Programs that tests run inside the sandbox: plain C, one file each.
$(HELPER_BIN): $(BUILD)/tests/%: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $<

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

PROVE = prove --timer
check: all $(UNIT_BIN) $(HELPER_BIN) ## run the tests
	SBX_BUILD=$(abspath $(BUILD)) $(PROVE) $(UNIT_BIN) $(SCRIPTS)

check-unit: $(UNIT_BIN)
	$(PROVE) $(UNIT_BIN)

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12
