#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Random texts to what can be written: the two files of the mode, and the module's parameters.
# The seed is in the output; BLKACCT_SEED sets it.
. "$(dirname "$0")/lib.sh"

SEED=${BLKACCT_SEED:-$RANDOM}

# With counts in all files, which must stay.
texts_are_modes_or_change_nothing() {
	mode disk 2
	read_blocks disk1 10
	"$GUEST_DIR/stores.py" "$SEED" 120 disk disk1
	counts_as_ever disk
	no_anomalies disk1
}

# Either the module is there with files that say so, or there is nothing of it.
parameters_are_taken_or_the_module_is_not_there() {
	local round name value said refused=0
	local values=(0 1 2 255 256 -1 0x1 x "" " 1" 1x 99999999999999999999 "1,1")
	RANDOM=$SEED
	echo "seed $SEED"
	for round in {1..12}; do
		unload_module
		name=$([ $((RANDOM % 2)) = 0 ] && echo classic || echo device)
		value=${values[RANDOM % ${#values[@]}]}
		if said=$(insmod "$MODULE" "$name=$value" 2>&1); then
			within "classic after $name=$value" "$(cat "$(sysfs disk)/blkacct/classic")" 0 1
			[ "$value" != 0 ] || [ "$name" != classic ] ||
				same "classic after 0" "$(cat "$(sysfs disk)/blkacct/classic")" 0
			within "$name=$value, which was taken," $((value)) 0 255
		else
			refused=$((refused + 1))
			same "$name=$value" "${said##*: }" "Invalid parameters"
			[ ! -d /sys/module/blkacct ]
			[ ! -d "$(sysfs disk)/blkacct" ]
		fi
	done
	within "refused" $refused 1 11
}

load_module
add_null disk memory_backed=1
partition disk
ktap_print_header
ktap_set_plan 2
ktap_test_result texts_are_modes_or_change_nothing texts_are_modes_or_change_nothing
ktap_test_result parameters_are_taken_or_the_module_is_not_there \
	parameters_are_taken_or_the_module_is_not_there
remove_null disk
unload_module
ktap_finished
