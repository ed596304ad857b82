// SPDX-License-Identifier: GPL-2.0
/*
 * The leanest latency histogram in eBPF that there is: one program, at the end of a
 * request, which takes the start from the request itself; a per-CPU array of powers
 * of two. It knows no device, no operation and nothing in flight.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;

/* Found in the running kernel's own when the program is loaded. */
struct request {
	u64 start_time_ns;
} __attribute__((preserve_access_index));

enum { MAP_TYPE_PERCPU_ARRAY = 6, SLOTS = 64 };

/* What the loader reads of a map are the types of its members. */
struct {
	int (*type)[MAP_TYPE_PERCPU_ARRAY];
	int (*max_entries)[SLOTS];
	u32 *key;
	u64 *value;
} latency SEC(".maps");

static u32 log2(u64 value)
{
	u32 result = 0;

	for (u32 shift = 32; shift; shift >>= 1)
		if (value >> shift) {
			value >>= shift;
			result += shift;
		}
	return result;
}

SEC("tp_btf/block_io_done")
int done(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	u32 slot = log2(bpf_ktime_get_ns() - rq->start_time_ns);
	u64 *count = bpf_map_lookup_elem(&latency, &slot);

	if (count)
		(*count)++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
