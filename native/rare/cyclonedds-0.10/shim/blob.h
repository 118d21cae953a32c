/* The functions that src/sys.rs calls: plain functions over internals of Cyclone DDS 0.10. */
#ifndef RMWBENCH_BLOB_H
#define RMWBENCH_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* A message that the reader holds: its body, which is the CDR without the four bytes of the header;
 * `shared`: whether it is in shared memory. */
struct rmwbench_view {
  const uint8_t *bytes;
  size_t size;
  bool shared;
};

/* Creates a topic of raw CDR with any type name; its body has the fixed size `body_bytes`, which
 * shared memory requires. `*type` is borrowed from the topic. Returns the topic or a negative
 * return code. */
int32_t rmwbench_topic(int32_t participant, const char *name, const char *type_name,
                       uint32_t body_bytes, const void **type);

/* Writes the concatenated parts as one message (CDR, header included), by one copy. */
int32_t rmwbench_write(int32_t writer, const void *type, const struct iovec *parts, size_t count);

/* Takes one message and returns how many it took (0 or 1), or a negative return code. A sample
 * without data is released: NULL. */
int32_t rmwbench_take(int32_t reader, void **message);
void rmwbench_view_of(const void *message, struct rmwbench_view *view);
void rmwbench_release(void *message);

#endif
