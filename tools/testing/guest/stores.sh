#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Random texts to what can be written: the two files of the mode, and the module's parameters.
# The seed is in the output.
. "$(dirname "$0")/lib.sh"

# With counts in all files, which must stay.
texts_are_modes_or_change_nothing() {
	mode disk 2
	read_blocks disk1 10
	"$GUEST_DIR/stores.py" "$BLKACCT_SEED" 3 disk disk1
	counts_as_ever disk
	no_anomalies disk1
}

# Either the module is there with files that say so, or there is nothing of it.
parameters_are_taken_or_the_module_is_not_there() {
	unload_module
	"$GUEST_DIR/parameters.py" "$BLKACCT_SEED" "$MODULE" disk
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
