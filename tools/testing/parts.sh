# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Parts of a long run, of which some need others: several at once, each with its output shown
# whole when it has ended. Sourced, under "set -e". The calls:
#
#	part TITLE COMMA-SEPARATED-TITLES-IT-NEEDS COMMAND...	# for each
#	run_parts 3	# so many at once
#
# A part that failed does not end the run, and what needs it is not run, and has failed.

titles=()
declare -A needs=() commands=() state=() pids=() begun=()
part() { # TITLE COMMA-SEPARATED-TITLES-IT-NEEDS COMMAND...
	local title=$1
	titles+=("$title")
	needs[$title]=$2 state[$title]=waits
	shift 2
	commands[$title]=$(printf '%q ' "$@")
}

# A process group for each part, so that all of it can be ended.
set -m
logs=$(mktemp -d)
end_all() {
	local pid
	for pid in "${pids[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || :; done
	rm -rf "$logs"
}
trap end_all EXIT
trap 'exit 130' INT TERM HUP

log_of() { # TITLE
	echo "$logs/${1//[^a-z0-9A-Z]/-}"
}

begin() { # TITLE
	local log
	log=$(log_of "$1")
	(
		status=0
		eval "${commands[$1]}" || status=$?
		# The time of the CPUs that its processes had, in 1/100 s.
		read -ra stat <"/proc/$BASHPID/stat"
		echo $(((stat[15] + stat[16]) / 100)) >"$log.cpu"
		exit $status
	) >"$log" 2>&1 </dev/null &
	pids[$1]=$! begun[$1]=$SECONDS state[$1]=runs
}

# Shows all of a part that has ended, its result last.
show() { # TITLE RESULT
	local log
	log=$(log_of "$1")
	state[$1]=$2
	printf '\n=== %s\n' "$1"
	[ ! -e "$log" ] || cat "$log"
	if [ "$2" = "not run" ]; then
		printf '=== %s: FAILED, as what it needs has: %s\n' "$1" "${needs[$1]}"
	else
		printf '=== %s: %s, %d s, %s s of CPU\n' "$1" "$2" $((SECONDS - begun[$1])) \
			"$(cat "$log.cpu" 2>/dev/null || echo ?)"
	fi
}

may_begin() { # TITLE: ok, waits or "not run"
	local each wanted verdict=ok
	IFS=, read -ra wanted <<<"${needs[$1]}"
	for each in "${wanted[@]}"; do
		case ${state[$each]} in
		ok) ;;
		waits | runs) [ "$verdict" = "not run" ] || verdict=waits ;;
		*) verdict="not run" ;;
		esac
	done
	echo "$verdict"
}

progress() {
	local each line=
	for each in "${titles[@]}"; do
		[ "${state[$each]}" = runs ] || continue
		line+="; $each: $(tail -n 1 "$(log_of "$each")" | sed 's/^ *//' | cut -c1-50)"
	done
	printf '[%4d s] %s\n' "$SECONDS" "${line#; }"
}

# run_parts NUMBER: runs all parts, so many at once. Succeeds if each has.
run_parts() {
	local jobs=$1 shown=$SECONDS title running waiting failed='' passed=0
	while :; do
		running=0 waiting=0
		for title in "${titles[@]}"; do
			[ "${state[$title]}" = runs ] || continue
			if kill -0 "${pids[$title]}" 2>/dev/null; then
				running=$((running + 1))
				continue
			fi
			if wait "${pids[$title]}"; then show "$title" ok; else show "$title" FAILED; fi
			unset "pids[$title]"
		done
		for title in "${titles[@]}"; do
			[ "${state[$title]}" = waits ] || continue
			case $(may_begin "$title") in
			ok)
				if [ $running -lt "$jobs" ]; then
					begin "$title"
					running=$((running + 1))
				fi
				;;
			"not run") show "$title" "not run" ;;
			esac
			[ "${state[$title]}" != waits ] || waiting=$((waiting + 1))
		done
		[ $((running + waiting)) -gt 0 ] || break
		if [ $((SECONDS - shown)) -ge 20 ]; then
			shown=$SECONDS
			progress
		fi
		sleep 0.5
	done
	for title in "${titles[@]}"; do
		if [ "${state[$title]}" = ok ]; then passed=$((passed + 1)); else failed+=", $title"; fi
	done
	printf '\n%d s in all%s\n' "$SECONDS" "${failed:+; failed: ${failed#, }}"
	printf 'parts: %d passed, %d failed\n' $passed $((${#titles[@]} - passed))
	[ -z "$failed" ]
}
