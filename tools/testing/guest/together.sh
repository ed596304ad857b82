#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Threads that each read once, at the same instant on CPUs of their own, after an idle time of
# which nothing may be charged. How long the guest's CPUs stand still meanwhile does not matter:
# busy time is at least the disk's time for each round, and never more than the time in which a
# thread was in a read, which they measure themselves.
. "$(dirname "$0")/lib.sh"

DISK_NS=1380000
ROUNDS=20

no_idle_time_is_charged() { # THREADS
	local -A before=() got=()
	local busy
	ours before disk
	rig --disk=/dev/disk together --threads="$1" --every-ms=200 --rounds=$ROUNDS >together.json
	ours got disk
	since got before
	no_anomalies disk
	counted got read.ios=$((ROUNDS * $1)) read.sectors=$((ROUNDS * $1 * 8))
	busy=$(python3 -c "import json; print(json.load(open('together.json'))['busy_ns'])")
	echo "$1 threads: $((got[io_ticks] / 1000)) us busy, by the threads $((busy / 1000)) us, of $((got[time_ns] / 1000)) us"
	within "busy" "${got[io_ticks]}" $((ROUNDS * DISK_NS)) "$busy"
	# Of 200 ms a round, or nothing is shown.
	within "busy by the threads" "$busy" 0 $((got[time_ns] / 2))
}

cd "$(mktemp -d)" || exit
remove_null disk
load_module
add_null disk completion_nsec=$DISK_NS
mode disk 2
ktap_print_header
ktap_set_plan 2
ktap_test_result two_threads_are_charged_no_idle_time no_idle_time_is_charged 2
ktap_test_result a_thread_on_each_cpu_is_charged_no_idle_time no_idle_time_is_charged "$(nproc)"
remove_null disk
ktap_finished
