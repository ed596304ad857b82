#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module takes no memory for which the kernel might start I/O, or wait for some: not
# where a disk that comes or goes would wait for it. A BPF program sees the allocations.
. "$(dirname "$0")/lib.sh"

# Each allocation for which reclaim may do I/O, and each of a task that has said that it must
# not (PF_MEMALLOC_NOIO), by its stack. __GFP_DIRECT_RECLAIM and __GFP_IO are 0x440.
see_allocations() {
	seen=$(mktemp)
	bpftrace -B line -e '
		tracepoint:kmem:kmalloc, tracepoint:kmem:kmem_cache_alloc, tracepoint:kmem:mm_page_alloc,
		tracepoint:percpu:percpu_alloc_percpu
		/(args.gfp_flags & 0x440) == 0x440/
		{
			if (curtask->flags & 0x80000) { @without_io[kstack] = count() }
			else { @with_io[kstack] = count() }
		}
		BEGIN { printf("begun\n") }' >"$seen" 2>&1 &
	tracer=$!
	trap 'kill $tracer 2>/dev/null || :' EXIT
	eventually 300 grep -q begun "$seen" || { cat "$seen"; return 1; }
}

# Functions of Rust have the crate in their name, those of C begin with it.
stacks() { # MAP: of those that it has, the ones with the module in them
	awk -v map="@$1" '
		/^@/ { stack = ""; on = index($0, map "[") == 1 }
		on { stack = stack $0 "\n" }
		/^\]/ && on && stack ~ /blkacct/ { printf "%s", stack }' "$seen"
}

all_that_takes_a_lock() {
	local disk=$1 round
	for round in 2 1 2; do
		mode "$disk" $round
	done
	echo 0 >"$(sysfs "$disk")/queue/iostats"
	echo 2 >"$(sysfs "$disk")/queue/iostats"
	cat "$(sysfs "$disk")"/blkacct/* >/dev/null 2>&1 || :
	# A partition comes to a disk in mode 2, and goes.
	blockdev --rereadpt "/dev/$disk"
}

no_memory_is_taken_with_io() {
	see_allocations
	add_null new memory_backed=1
	partition new
	all_that_takes_a_lock new
	add_dm linear "0 $(sectors new) linear /dev/new 0"
	mode "$dm" 2
	mode "$dm" 1
	remove_dm linear
	remove_null new
	# The hooks go later, by themselves.
	eventually 10 hooks_are_gone
	kill -INT $tracer
	wait $tracer || :
	within "stacks without I/O" "$(stacks without_io | grep -c '^@')" 5 100000
	same "stacks with I/O" "$(stacks with_io | head -n 60)" ""
}

clean_up() {
	remove_dm linear 2>/dev/null
	remove_null new
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
clean_up
load_module
ktap_print_header
ktap_set_plan 1
if [ -e /sys/kernel/btf/vmlinux ]; then
	ktap_test_result no_memory_is_taken_with_io no_memory_is_taken_with_io
else
	ktap_test_skip no_memory_is_taken_with_io "a kernel without BPF"
fi
clean_up
ktap_finished
