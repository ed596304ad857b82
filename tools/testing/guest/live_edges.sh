#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Hundreds of windows in the middle of a load at depth 1, on several CPUs: what is under way at an
# edge is in a report or not, and none may be called wrong for that.
. "$(dirname "$0")/lib.sh"

WINDOWS=$((200 / ${BLKACCT_PATIENCE:-1}))

no_edge_makes_a_right_report_wrong() {
	local status=0 number
	while :; do
		read_blocks disk 10000
	done &
	load=$!
	trap 'kill $load 2>/dev/null || :' EXIT
	eventually 10 is_loaded disk 64
	blkacct check --live disk --seconds 0.05 --windows $WINDOWS --skew-ns 20000 >windows 2>&1 || status=$?
	grep -E 'FAIL|UNFIT|^blkacct' windows | sort | uniq -c || :
	number=$(grep -cx ok windows)
	echo "$number windows are right; in so many of them nothing was under way at an edge:" \
		"$(grep -c '^read ios .* -0 +0  *ok$' windows)"
	same "status" $status 0
	same "windows" "$number" $WINDOWS
}

clean_up() {
	remove_null disk
}

cd "$(mktemp -d)" || exit
clean_up
load_module
add_null disk
mode disk 2
ktap_print_header
ktap_set_plan 1
ktap_test_result no_edge_makes_a_right_report_wrong no_edge_makes_a_right_report_wrong
clean_up
ktap_finished
