# sbx: see "make help". Everything that is made lies under build/.

VERSION := 0.1.0
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/sbx
# Completions of bash, zsh and fish.
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
BUILD ?= build

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
# WERROR=1 (set on CI) makes warnings errors.
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum \
	-Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wformat-nonliteral \
	-Wno-gnu-zero-variadic-macro-arguments
ifdef CI
WERROR ?= 1
endif
# Those that not every compiler and machine has: gcc 11 and clang 14 lack the last.
cc_has = $(foreach f,$(1),$(shell $(CC) -Werror $(f) -c -x c /dev/null -o /dev/null 2>/dev/null && echo $(f)))
HARDEN := -fstack-protector-strong -fPIE \
	$(call cc_has,-fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero)
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
PIE = -pie
LDHARDEN = $(PIE) -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed
ALL_CPPFLAGS = -D_GNU_SOURCE -DSBX_VERSION='"$(VERSION)"' -Isrc $(CPPFLAGS)
ALL_CFLAGS = -std=gnu11 $(WARN) $(if $(WERROR),-Werror) $(HARDEN) $(CFLAGS)
CJSON_CFLAGS = $(shell $(PKG_CONFIG) --cflags libcjson 2>/dev/null)
LIBS = $(shell $(PKG_CONFIG) --libs libcjson 2>/dev/null || echo -lcjson) \
	$(shell $(PKG_CONFIG) --libs libcgroup 2>/dev/null || echo -lcgroup) $(SECCOMP_LIBS)
SECCOMP_LIBS = $(shell $(PKG_CONFIG) --libs libseccomp 2>/dev/null || echo -lseccomp)
# Programs that run while sbx is built, by the building machine's compiler and libraries.
BUILD_CC ?= $(CC)
BUILD_LIBS ?= $(SECCOMP_LIBS)

# The static build: cJSON, of which there is no static library, comes as source; and nothing may load NSS modules.
CJSON_SRC ?= $(BUILD)/sources/cjson
BWRAP_SRC ?= $(BUILD)/sources/bubblewrap
ifdef STATIC
PIE := -static-pie
CJSON_CFLAGS = -isystem $(CJSON_SRC)
LIBS = $(shell $(PKG_CONFIG) --static --libs libcgroup 2>/dev/null || echo -lcgroup) $(SECCOMP_LIBS)
STATIC_OBJ := $(BUILD)/obj/cJSON.o $(BUILD)/obj/contrib/static/no_nss.o
endif

TOOLS := sbx-plan sbx-exec sbx-job
BINS := $(TOOLS:%=$(BUILD)/%)
# What runs while sbx is built is no part of it.
LIB_SRC := $(filter-out $(TOOLS:%=src/cmd/%.c) src/cmd/seccomp-builtin.c,$(sort $(wildcard src/*/*.c)))
BUILTINS := $(sort $(wildcard policies/*.json))
TEST_LIB_SRC := $(sort $(wildcard tests/lib/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
HELPER_SRC := $(sort $(wildcard tests/hostile/*.c tests/integration/*.c))
ATTACK_SRC := $(sort $(wildcard tests/hostile/attack/*.c))
FUZZ_SRC := $(filter-out %/replay.c %/differential.c,$(sort $(wildcard tests/fuzz/*.c)))
SCRIPTS := $(sort $(wildcard tests/integration/*.t))
PAGES := $(sort $(wildcard docs/*.[1-8]))
DOCUMENTS := README.md LICENSE docs/guide.md docs/environments.md docs/security.md docs/sbx-policy.schema.json \
	docs/sbx-report.schema.json docs/reliability.md
C_SRC := $(sort $(wildcard src/*/*.c tests/*/*.c tests/hostile/attack/*.c contrib/static/*.c))

# Unit tests are built apart, with sanitizers; cover counts lines in the same objects that the tools are made of.
UNIT_OBJ := san
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
objs = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2)) $(BUILD)/$(1)/builtin.o $(BUILD)/$(1)/seccomp-builtin.o
LIB_OBJ := $(call objs,obj,$(LIB_SRC))
SAN_OBJ := $(call objs,$(UNIT_OBJ),$(LIB_SRC) $(TEST_LIB_SRC))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
ATTACK := $(BUILD)/tests/hostile/attack
HELPER_BIN := $(patsubst tests/%.c,$(BUILD)/tests/%,$(HELPER_SRC))

# One short line for each thing made; V=1 shows the whole command.
say = @$(if $(V),set -x,echo '  $(1) $@');

.PHONY: all static demo check check-all check-env check-env-quick check-unit fuzz fuzz-run lint lint-c lint-text bench install \
	uninstall deb cover format clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BINS) ## build sbx-plan, sbx-exec and sbx-job

$(BUILD)/libsbx.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $(LIB_OBJ)

$(BINS): $(BUILD)/%: $(BUILD)/obj/src/cmd/%.o $(BUILD)/libsbx.a $(STATIC_OBJ)
	$(call say,LD)$(CC) $(ALL_CFLAGS) $(LDHARDEN) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(FORTIFY) $(CJSON_CFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/tests/%.o: ALL_CPPFLAGS += -Itests

$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) -Itests $(CJSON_CFLAGS) $(ALL_CFLAGS) $(SAN) -MMD -MP -c -o $@ $<

static: ## build static tools and a static bwrap ("sh contrib/setup static" fetches what they are made of)
	@for f in $(CJSON_SRC)/cJSON.c $(BWRAP_SRC)/bubblewrap.c; do [ -f $$f ] || { echo "there is no $$f: unpack the source and" \
		"say CJSON_SRC=DIR, BWRAP_SRC=DIR; or run: sh contrib/setup static" >&2; exit 1; }; done
	$(MAKE) BUILD=$(BUILD)/static STATIC=1 CJSON_SRC=$(CJSON_SRC) BWRAP_SRC=$(BWRAP_SRC) all $(BUILD)/static/bwrap

ifdef STATIC
$(BUILD)/obj/cJSON.o: $(CJSON_SRC)/cJSON.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(FORTIFY) $(HARDEN) $(CFLAGS) -c -o $@ $<

# As its own build does it: these four files, and its name and version.
$(BUILD)/bwrap: $(foreach f,bubblewrap bind-mount network utils,$(BWRAP_SRC)/$(f).c) $(BWRAP_SRC)/meson.build
	@mkdir -p $(BUILD)/obj/bwrap
	@sed -n "s/^ *version *: *'\([0-9.]*\)'.*/#define PACKAGE_STRING \"bubblewrap \1\"/p" $(BWRAP_SRC)/meson.build \
		>$(BUILD)/obj/bwrap/config.h
	$(call say,LD)$(CC) -D_GNU_SOURCE $(FORTIFY) -I$(BUILD)/obj/bwrap $(HARDEN) $(CFLAGS) $(LDHARDEN) $(LDFLAGS) -o $@ \
		$(filter %.c,$^) -lcap
endif

# The built-in policies as C strings.
$(BUILD)/builtin.c: $(BUILTINS) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "policy/builtin.h"'; echo 'const struct builtin policy_builtins[] = {'; \
	for f in $(BUILTINS); do \
		printf '\t{"%s",\n' "$$(basename $$f .json)"; \
		sed -e 's/[\\"]/\\&/g' -e 's/^/\t "/' -e 's/$$/\\n"/' $$f; echo '},'; \
	done; echo '	{0, 0}};'; } >$@

$(BUILD)/obj/builtin.o: $(BUILD)/builtin.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -Wno-overlength-strings -MMD -MP -c -o $@ $<

$(BUILD)/san/builtin.o: $(BUILD)/builtin.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SAN) -Wno-overlength-strings -MMD -MP -c -o $@ $<

# The built-in filters of system calls, as C for every architecture.
BUILTIN_MAKER_SRC := src/cmd/seccomp-builtin.c src/run/seccomp.c src/base/mem.c src/base/err.c src/base/nearest.c src/base/strvec.c
$(BUILD)/seccomp-builtin: $(BUILTIN_MAKER_SRC) $(wildcard src/base/*.h) src/run/seccomp.h
	@mkdir -p $(@D)
	$(call say,MAKE)$(BUILD_CC) $(ALL_CPPFLAGS) -std=gnu11 -o $@ $(BUILTIN_MAKER_SRC) $(BUILD_LIBS)

$(BUILD)/seccomp-builtin.c: $(BUILD)/seccomp-builtin
	@$< >$@

$(BUILD)/obj/seccomp-builtin.o: $(BUILD)/seccomp-builtin.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/san/seccomp-builtin.o: $(BUILD)/seccomp-builtin.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SAN) -MMD -MP -c -o $@ $<

$(UNIT_BIN): $(BUILD)/unit/%: $(BUILD)/$(UNIT_OBJ)/tests/unit/%.o $(SAN_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(ALL_CFLAGS) $(SAN) $(LDFLAGS) -o $@ $^ $(LIBS)

# The fuzzers: each feeds itself its corpus, or, with FUZZER, has libFuzzer's main.
$(FUZZ_BIN): $(BUILD)/fuzz/%: $(BUILD)/$(UNIT_OBJ)/tests/fuzz/%.o $(if $(FUZZER),,$(BUILD)/$(UNIT_OBJ)/tests/fuzz/replay.o) \
		$(SAN_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(ALL_CFLAGS) $(SAN) $(FUZZER) $(LDFLAGS) -o $@ $^ $(LIBS)

# Programs that tests run inside the sandbox: plain C, one file each.
$(HELPER_BIN): $(BUILD)/tests/%: tests/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $<

# Libraries that tests put before the C library's.
PRELOAD := $(patsubst tests/%.c,$(BUILD)/tests/%.so,$(sort $(wildcard tests/preload/*.c)))
$(PRELOAD): $(BUILD)/tests/%.so: tests/%.c
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -shared $(LDFLAGS) -o $@ $<
check: $(PRELOAD)

# The attacks: one program. A row of its tables has only the fields that it needs.
$(BUILD)/obj/tests/hostile/attack/%.o: ALL_CFLAGS += -Wno-missing-field-initializers
$(ATTACK): $(ATTACK_SRC:%.c=$(BUILD)/obj/%.o)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# Two at once where there are two processors, four at most: tests wait more than they compute.
PROVE = prove --timer --jobs $(shell n=$$(nproc) && echo $$((n < 4 ? n : 4)))
check: all $(UNIT_BIN) $(FUZZ_BIN) $(HELPER_BIN) $(ATTACK) ## run the tests
	SBX_BUILD=$(abspath $(BUILD)) $(PROVE) $(UNIT_BIN) $(FUZZ_BIN) $(SCRIPTS)

check-unit: $(UNIT_BIN)
	$(PROVE) $(UNIT_BIN)

# Built apart, by clang. What a fuzzer has learnt is kept below build/; an input that broke it becomes
# build/fuzz/NAME-crash-..., and a file of its corpus when the fault is gone.
SECONDS ?= 15
fuzz: $(BUILD)/tests/hostile/look ## run each fuzzer for SECONDS=15, and plans under the kernel for as long ("sh contrib/setup fuzz")
	$(MAKE) BUILD=$(BUILD)/fuzzers CC=clang FUZZER=-fsanitize=fuzzer CFLAGS='-O1 -g' \
		SAN='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' \
		LOOK=$(BUILD)/tests/hostile/look fuzz-run

fuzz-run: $(FUZZ_BIN) $(BUILD)/differential
	for f in $(notdir $(FUZZ_BIN)); do mkdir -p $(BUILD)/corpus/$$f || exit 1; \
		$(BUILD)/fuzz/$$f -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
		-verbosity=0 -artifact_prefix=$(BUILD)/fuzz/$$f- $(BUILD)/corpus/$$f tests/fuzz/corpus/$$f \
		$$([ $$f != policy ] || echo policies contrib/policies) || exit 1; done
	sh tests/fuzz/differential.sh $(BUILD)/differential $(LOOK) $(SECONDS)

$(BUILD)/differential: $(BUILD)/obj/tests/fuzz/differential.o $(BUILD)/obj/tests/lib/world.o $(BUILD)/libsbx.a
	$(call say,LD)$(CC) $(ALL_CFLAGS) $(LDHARDEN) $(LDFLAGS) -o $@ $^ $(LIBS)

# It runs where there are no libraries.
$(BUILD)/tests/hostile/look: LDFLAGS += -static

demo: all ## build a C project in the sandbox, next to things it must not reach
	@SBX_BUILD=$(abspath $(BUILD)) sh contrib/demo/run

check-all: check lint check-env ## check, lint and check-env

check-env: all static $(HELPER_BIN) $(BUILD)/unit/test_cgroup ## run sbx-exec in containers, virtual machines and odd hosts, as root
	SBX_BUILD=$(abspath $(BUILD)) tests/env/run

check-env-quick: all static $(HELPER_BIN) ## only the hosts: what takes seconds
	SBX_BUILD=$(abspath $(BUILD)) $(PROVE) $(sort $(wildcard tests/env/host-*.t))

# What lint finds is an error. One object or stamp a file, so that only what changed is looked at again, by -j.
ANALYZED := $(patsubst src/%.c,$(BUILD)/analyze/%.o,$(filter src/%,$(C_SRC)))
TIDIED := $(patsubst %.c,$(BUILD)/tidy/%,$(filter src/%,$(C_SRC)))
SHELLS = $(sort .ci/run contrib/setup contrib/apt-source contrib/completions/sbx.bash $(shell grep -lsE '^#!.*[/ ](ba)?sh$$' \
	$(filter-out %.t %.pl,$(wildcard contrib/* contrib/*/* tests/*/* .ci/*))))

# varFuncNullUB: NULL is a pointer in C wherever Linux is.
lint: lint-c lint-text ## analyzers and style: gcc, clang, cppcheck, shellcheck, mandoc, perl

lint-c: $(ANALYZED) $(TIDIED)
	cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr --enable=warning,performance,portability \
		--suppress=varFuncNullUB -D_GNU_SOURCE -DSBX_VERSION='""' -Isrc $(filter src/%,$(C_SRC))
	clang-format --dry-run -Werror $(C_SRC)

lint-text:
	shellcheck $(SHELLS)
	$(if $(PAGES),mandoc -Tlint -Wwarning $(PAGES))
	for t in $(SCRIPTS) $(wildcard tests/env/*.t) tests/env/table; do perl -Itests/integration -cw $$t || exit 1; done

$(BUILD)/analyze/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,ANALYZE)gcc $(ALL_CPPFLAGS) $(CJSON_CFLAGS) -std=gnu11 $(WARN) -O1 -Werror -fanalyzer -MMD -MP -c -o $@ $<

$(BUILD)/tidy/%: %.c .clang-tidy $(wildcard src/*/*.h)
	@mkdir -p $(@D)
	$(call say,TIDY)clang-tidy --quiet --warnings-as-errors='*' $< -- $(ALL_CPPFLAGS) $(CJSON_CFLAGS) -std=gnu11
	@touch $@

bench: all ## compare the cost of a start with that of bwrap alone
	@SBX_BUILD=$(abspath $(BUILD)) sh tests/bench/run

# Headers are left alone: their comments are set by hand.
format: ## put the C code into the form that lint asks for
	clang-format -i $(C_SRC)

# Line coverage of the unit and integration tests, a line a file; built apart.
cover: ## run the tests and print how much of each file they reach
	-$(MAKE) BUILD=$(BUILD)/cover UNIT_OBJ=obj SAN= FORTIFY= CFLAGS='-O0 -g --coverage' check
	@cd $(BUILD)/cover && for o in obj/src/*/*.gcda; do gcov -n $$o; done 2>/dev/null | \
	sed -n "/^File 'src/{N;s/^File '\(.*\)'\nLines executed:\(.*\) of \(.*\)/\2\t\3\t\1/p}" | sort -k3 -u

install: all ## install below DESTDIR and PREFIX
	install -d $(DESTDIR)$(BINDIR) $(addprefix $(DESTDIR)$(MANDIR)/man,$(sort $(patsubst .%,%,$(suffix $(PAGES)))))
	install -m 755 $(BINS) $(DESTDIR)$(BINDIR)
	for p in $(PAGES); do install -m 644 $$p $(DESTDIR)$(MANDIR)/man$${p##*.} || exit 1; done
	install -d $(addprefix $(DESTDIR),$(BASHDIR) $(ZSHDIR) $(FISHDIR))
	for t in $(TOOLS); do install -m 644 contrib/completions/sbx.bash $(DESTDIR)$(BASHDIR)/$$t && \
		install -m 644 contrib/completions/sbx.fish $(DESTDIR)$(FISHDIR)/$$t.fish || exit 1; done
	install -m 644 contrib/completions/_sbx $(DESTDIR)$(ZSHDIR)
	install -d $(DESTDIR)$(DOCDIR)/policies
	install -m 644 $(DOCUMENTS) $(DESTDIR)$(DOCDIR)
	install -m 644 $(BUILTINS) $(DESTDIR)$(DOCDIR)/policies

uninstall: ## remove what install put there
	rm -f $(TOOLS:%=$(DESTDIR)$(BINDIR)/%)
	rm -f $(TOOLS:%=$(DESTDIR)$(BASHDIR)/%) $(TOOLS:%=$(DESTDIR)$(FISHDIR)/%.fish) $(DESTDIR)$(ZSHDIR)/_sbx
	for p in $(notdir $(PAGES)); do rm -f $(DESTDIR)$(MANDIR)/man$${p##*.}/$$p || exit 1; done
	rm -f $(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(DOCUMENTS)) $(BUILTINS))
	-rmdir $(DESTDIR)$(DOCDIR)/policies $(DESTDIR)$(DOCDIR)

# debian/ belongs at the top of a tree: it is built in a copy.
deb: ## build a Debian package in build/deb ("sh contrib/setup deb" installs what that needs)
	rm -rf $(BUILD)/deb
	mkdir -p $(BUILD)/deb/sbx
	cp -r LICENSE Makefile README.md contrib docs policies src $(BUILD)/deb/sbx
	cp -r contrib/debian $(BUILD)/deb/sbx/debian
	cd $(BUILD)/deb/sbx && env -u BUILD -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -b -us -uc
	rm -r $(BUILD)/deb/sbx

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 17
