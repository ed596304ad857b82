#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A live patch of the functions behind queue/iostats, which blkacct replaces by the same means:
# whoever comes first has them, the other is told, and all else goes on. For a kernel that
# takes live patches.
. "$(dirname "$0")/lib.sh"

PATCH=$GUEST_DIR/../../../build/$BLKACCT_KERNEL/tools/testing/guest/livepatch/blkacct_livepatch.ko
patch=/sys/kernel/livepatch/blkacct_livepatch
declare -A before=() after=()

patch_is_in_force() {
	[ "$(cat $patch/transition)" = 0 ]
}

patch_is_gone() {
	[ ! -d $patch ]
}

patch_in() { # STORE, whether it is the function that writes
	insmod "$PATCH" store="$1"
	eventually 30 patch_is_in_force
}

patch_out() {
	echo 0 >$patch/enabled
	eventually 30 patch_is_gone
	rmmod blkacct_livepatch
}

queue_file() {
	echo "$(sysfs disk)/queue/iostats"
}

# The live patch's own functions say so: one of them shows this, the other takes nothing.
file_is_the_patchs() { # STORE
	if [ "$1" = 1 ]; then
		same "a write" "$(errno_of "$(queue_file)" 1)" "Operation not permitted"
		same "the other function" "$(cat "$(queue_file)")" 1
	else
		same "a read" "$(cat "$(queue_file)")" patched
		same "the other function" "$(errno_of "$(queue_file)" 3)" ""
	fi
}

file_is_the_kernels() {
	echo 3 >"$(queue_file)"
	same "3, to the kernel's own file," "$(cat "$(queue_file)")" 1
}

file_is_ours() {
	same "3 to ours" "$(errno_of "$(queue_file)" 3)" "Invalid argument"
	echo 2 >"$(queue_file)"
	same "both files" "$(cat "$(queue_file)") $(mode disk)" "2 2"
}

replaced() { # how many functions have another in their place
	grep -c '^queue_iostats_.* I ' /sys/kernel/tracing/enabled_functions || :
}

# In mode 2.
counts_exactly() {
	ours before disk
	read_blocks disk 10
	ours after disk
	since after before
	counted after read.ios=10 read.sectors=80
	no_anomalies disk
}

refusals() {
	dmesg | grep -cF "queue/iostats does not take 2 (EBUSY)" || :
}

# Which of the two functions it has decides whether our first is set already.
one_that_was_first_keeps_the_file() { # STORE
	local before_refusals
	before_refusals=$(refusals)
	patch_in "$1"
	load_module
	same "lines that say so" $(($(refusals) - before_refusals)) 1
	same "replaced functions" "$(replaced)" 1
	file_is_the_patchs "$1"
	same "blkacct/classic" "$(cat "$(sysfs disk)/blkacct/classic")" 1
	mode disk 2
	counts_exactly
	file_is_the_patchs "$1"
	same "mode" "$(mode disk)" 2
	unload_module
	same "symbols" "$(grep -c '\[blkacct\]' /proc/kallsyms)" 0
	file_is_the_patchs "$1"
	# It goes before us this time; the file is the kernel's then, until we are loaded anew.
	load_module
	mode disk 2
	patch_out
	same "replaced functions without the patch" "$(replaced)" 0
	counts_exactly
	file_is_the_kernels
	unload_module
	load_module
	file_is_ours
	counts_exactly
	unload_module
	file_is_the_kernels
}

one_that_comes_later_is_refused() {
	local store
	load_module
	for store in 0 1; do
		echo 2 >"$(queue_file)"
		same "the live patch" \
			"$(insmod "$PATCH" store=$store 2>&1 | sed 's/.*: //')" "Device or resource busy"
		patch_is_gone
		same "replaced functions" "$(replaced)" 2
		file_is_ours
		counts_exactly
	done
	unload_module
	file_is_the_kernels
	patch_in 0
	file_is_the_patchs 0
	patch_out
	file_is_the_kernels
}

# With calls of the file's functions and I/O all the while.
they_come_and_go_under_load() {
	local writer store
	start_load disk
	while :; do
		{ echo 1 >"$(queue_file)" && cat "$(queue_file)"; } || :
	done >/dev/null 2>&1 &
	writer=$!
	trap 'kill $load $writer 2>/dev/null || :' EXIT
	for store in 0 1; do
		patch_in $store
		load_module
		mode disk 2
		patch_out
		unload_module
		load_module
		insmod "$PATCH" store=$store 2>/dev/null && false
		unload_module
	done
	kill $writer
	wait $writer || :
	stop_load
	file_is_the_kernels
	load_module
	counts_as_ever disk
	unload_module
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
unload_module
remove_null disk
add_null disk
ktap_print_header
ktap_set_plan 4
if [ -d /sys/kernel/livepatch ]; then
	ktap_test_result one_of_the_read_keeps_the_file one_that_was_first_keeps_the_file 0
	ktap_test_result one_of_the_write_keeps_the_file one_that_was_first_keeps_the_file 1
	ktap_test_result one_that_comes_later_is_refused one_that_comes_later_is_refused
	ktap_test_result they_come_and_go_under_load they_come_and_go_under_load
else
	for test in one_of_the_read_keeps_the_file one_of_the_write_keeps_the_file \
		one_that_comes_later_is_refused they_come_and_go_under_load; do
		ktap_test_skip $test "this kernel takes no live patches"
	done
fi
remove_null disk
ktap_finished
