#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that fails while the module is loaded: one allocation after the other. It is there
# then, perhaps without the files of a device, or it is not; and the next try succeeds.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/faulty.sh"

load() {
	exec insmod "$MODULE"
}

loaded_or_not() { # STATUS
	[ "$1" = 0 ] || [ ! -d /sys/module/blkacct ]
	[ "$1" != 0 ] || rmmod blkacct
	same "hooks" "$(grep -c blkacct /sys/kernel/tracing/enabled_functions || :)" 0
	same "directories" "$(find -L /sys/block -maxdepth 3 -name blkacct 2>/dev/null | wc -l)" 0
}

loading() {
	local start end
	read -r start end <<<"$(addresses do_one_initcall)"
	unload_module
	fail_within "$start" "$end"
	each_fails 20 load loaded_or_not
	load_module
	counts_as_ever fresh
}

add_firm_null fresh
ktap_print_header
ktap_set_plan 2
ktap_test_result loading loading
remove_null fresh
unload_module
test_for_leaks
ktap_finished
