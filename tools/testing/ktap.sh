# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Test results as KTAP, the kernel's test format (Documentation/dev-tools/ktap.rst).
# Sourced. The calls, in this order:
#
#	ktap_print_header
#	ktap_set_plan 2
#	ktap_test_result name_of_the_test command [argument...]
#	ktap_test_skip name_of_the_test why it cannot run here
#	ktap_finished			# exits: 0 only if all is well
#
# A test is a command, mostly a function. It runs in a shell of its own under
# "set -e", so it is a list of steps of which the first that fails ends it. What it
# prints comes before its result, as diagnostics.

ktap_plan=0 ktap_count=0 ktap_failed=0

ktap_print_header() {
	echo "KTAP version 1"
}

ktap_set_plan() { # NUMBER-OF-TESTS
	ktap_plan=$1
	echo "1..$1"
}

ktap_test_result() { # NAME COMMAND...
	local name=$1 status output
	shift
	ktap_count=$((ktap_count + 1))
	# A file, as a pipe would be held open by what a test leaves running. "if" would
	# switch "set -e" off.
	output=$(mktemp)
	(
		set -e
		"$@"
	) >"$output" 2>&1
	status=$?
	sed 's/^/# /' "$output"
	rm -f "$output"
	if [ "$status" = 0 ]; then
		echo "ok $ktap_count $name"
	else
		ktap_failed=$((ktap_failed + 1))
		echo "not ok $ktap_count $name"
	fi
}

ktap_test_skip() { # NAME REASON...
	local name=$1
	shift
	ktap_count=$((ktap_count + 1))
	echo "ok $ktap_count $name # SKIP $*"
}

ktap_finished() {
	if [ "$ktap_count" != "$ktap_plan" ]; then
		echo "# planned $ktap_plan tests, ran $ktap_count"
		exit 1
	fi
	[ "$ktap_failed" = 0 ]
	exit
}
