/* The bare program's interface to the bench. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bare bare;

/* Opens two participants of `domain`, a writer in the first and a reader with its thread in the
 * second, all with the default profiles of name `profile` (loaded before). NULL if Fast DDS
 * refuses. `capacity` is the largest number of messages that will be sent. */
bare *bare_open(uint32_t domain, const char *profile, const char *topic, const uint8_t *prefix,
                size_t prefix_bytes, size_t payload_bytes, size_t capacity);
void bare_close(bare *bare);
int bare_matched(bare *bare);
void bare_send(bare *bare);
/* Whether the last message sent has been received. */
int bare_all_received(const bare *bare);
/* Writes the latencies from write to take in nanoseconds, by sequence number; -1 for a message that
 * never arrived. Returns the number of sent messages. */
size_t bare_latencies_ns(const bare *bare, int64_t *latencies_ns);
int bare_corrupt(const bare *bare);

/* The user's work, the same for both programs; the bench implements it. */
void bench_fill(uint8_t *body, size_t bytes, uint64_t seq);
int bench_verify(const uint8_t *body, size_t bytes, uint64_t seq);

#ifdef __cplusplus
}
#endif
