# SPDX-License-Identifier: GPL-2.0
# Names each atomic access outside tests whose ordering has no reason: no comment "ORDERING:"
# in the lines before it in the same function, nor one that is for "all of this file" or for
# "here and" other places.
FNR == 1 { reason = 0; whole = 0; test = 0 }
/#\[cfg\(CONFIG_KUNIT\)\]|#\[cfg\(any\(test, CONFIG_KUNIT\)\)\]/ { test = 1 }
test && /^}/ { test = 0 }
/ORDERING:.*(all of this file|, here and)/ { whole = 1 }
/ORDERING:/ { reason = FNR }
/^    (pub(\([a-z:]+\))? )?(const )?(unsafe )?fn |^(pub(\([a-z:]+\))? )?(unsafe )?(extern "C" )?fn / { if (reason < FNR - 1) reason = 0 }
/(load|store|add|xchg|fetch_add)\(.*(Relaxed|Acquire|Release|Full)\)|^ *(\.load|\.add)\(.*(Relaxed|Acquire)\)/ && !/^ *\/\// {
	if (!test && !whole && !reason) { print FILENAME ":" FNR ": " $0; missing = 1 }
}
END { exit missing }
