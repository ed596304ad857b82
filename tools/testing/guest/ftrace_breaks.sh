#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ftrace breaks while hooks are set. It gives none back then and calls them for ever, so they
# lead nowhere and the module stays. Last of its guest, as both last until the next boot.
. "$(dirname "$0")/lib.sh"

KILL=$GUEST_DIR/../../../build/$BLKACCT_KERNEL/tools/testing/guest/livepatch/blkacct_ftrace_kill.ko

keeps_its_hooks() {
	dmesg | grep -q 'ftrace does not give a hook back'
}

hooks_that_are_not_given_back_hold_the_module() {
	add_null one
	add_dm linear "0 $(sectors one) linear /dev/one 0"
	mode "$dm" 2
	read_blocks "$dm" 10
	insmod "$KILL"
	mode "$dm" 1
	eventually 10 keeps_its_hooks
	same "rmmod" "$(rmmod blkacct 2>&1 | grep -o 'in use')" "in use"
	# The hooks are still called, and the kernel's own files still served.
	read_blocks "$dm" 10
	cat /proc/diskstats "$(sysfs "$dm")/stat" >/dev/null
	same "2 on a bio-based disk" "$(errno_of "$(sysfs "$dm")/blkacct/iostats" 2)" \
		"Operation not supported"
	echo 1 >"$(sysfs one)/queue/iostats"
	counts_as_ever one
	remove_dm linear
	remove_null one
	# It is what was to be told, and is no complaint.
	dmesg --clear
}

load_module
ktap_print_header
ktap_set_plan 1
if [ -e "$KILL" ]; then
	ktap_test_result hooks_that_are_not_given_back_hold_the_module \
		hooks_that_are_not_given_back_hold_the_module
else
	ktap_test_skip hooks_that_are_not_given_back_hold_the_module "there is nothing to break ftrace with"
fi
ktap_finished
