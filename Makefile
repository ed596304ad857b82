# SPDX-License-Identifier: GPL-2.0
# Front end. Building is Kbuild's; setting up, guests and tests are tools/env's and
# tools/testing's.

KDIR ?= /lib/modules/$(shell uname -r)/build
CARGO = cd tools && cargo
IN_ROOT = tools/env/in-root

.PHONY: help modules install clean guest-modules tool demo evidence bench bench-json \
	bench-scale bench-native test check kunit test-debug test-host test-guest test-trixie \
	test-histories test-mutants test-page fmt

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24
	@echo
	@echo "  KDIR=DIR for modules, install and clean: the kernel's build directory"
	@echo "  (now $(KDIR))"
	@echo "  BLKACCT_CACHE=DIR for the rest: build root, kernels and guest image"

# --- on a machine whose kernel has Rust ---

modules: ## blkacct.ko for the kernel of KDIR
	@tools/env/check-kdir "$(KDIR)"
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules

install: modules ## install blkacct.ko into that kernel's module directory
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules_install

clean: ## remove what was built here; the cache stays
	@[ ! -d "$(KDIR)" ] || $(MAKE) -C "$(KDIR)" M="$(CURDIR)" clean
	rm -rf build tools/target

# --- in the build root and its guests, which set themselves up ---

guest-modules: ## blkacct.ko for the stock kernel of the guests
	@tools/env/guest-modules stock

tool: ## the tool, tools/target/release/blkacct
	@tools/env/cargo build --release

demo: guest-modules tool ## the main job: what the kernel says, what blkacct says, what is true
	@tools/testing/demo

bench: guest-modules ## what accounting costs, in instructions per I/O; ONLY=VARIANT,... for a part
	@tools/testing/bench $(if $(ONLY),--only $(ONLY))

bench-json: guest-modules ## the same, as JSON
	@tools/testing/bench --json $(if $(ONLY),--only $(ONLY))

bench-scale: guest-modules ## what mode 2 costs with many disks in it
	@tools/testing/bench --scale

bench-native: ## the busy clock against a plain ns port of the stock algorithm, on this machine
	@tools/env/cargo bench -q -p bench

evidence: guest-modules tool ## make Documentation/evidence.rst from runs
	@tools/testing/evidence/make

test: ## everything, as CI does it
	@tools/testing/run-all

check: ## format and lint only
	@tools/testing/check

test-host: ## the crates' tests, loom models included
	@tools/testing/host

kunit: ## the module's KUnit suites, in a guest that checks locks and leaks
	@tools/testing/kunit

test-debug: ## all of KUnit's and the guest's tests on each debug kernel; writes what came out down
	@tools/testing/debug-guest --record

test-guest: guest-modules tool ## KTAP tests on the stock kernel
	@tools/testing/guest-tests

test-trixie: tool ## a part of them on the stock kernel of Debian trixie-backports
	@tools/env/guest-modules stock-trixie
	@tools/testing/guest-tests --kernel stock-trixie

test-histories: ## HISTORIES=20000 random histories of each kind, from BLKACCT_SEED on, through the checker
	@tools/testing/histories

test-mutants: guest-modules tool ## proof that the guest tests can fail: each mutant of the module is caught
	@tools/testing/mutants

test-page: ## the page of `blkacct report` in headless Chromium, pictured in light and dark
	@tools/testing/page

fmt: ## format the Rust files
	rustfmt --edition 2021 $$(git ls-files 'rust/*.rs' 'tools/*.rs')
