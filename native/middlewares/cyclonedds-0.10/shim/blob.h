/* What src/sys.rs calls: the parts of Cyclone DDS 0.10 that are structs of its headers, behind plain functions. */
#ifndef RMWBENCH_BLOB_H
#define RMWBENCH_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a message. */
struct rmwbench_part {
  const void *bytes;
  size_t size;
};

/* A message in the reader's hands: its CDR, or in shared memory its body, which is the CDR without the four bytes of the header. */
struct rmwbench_view {
  const uint8_t *bytes;
  size_t size;
  bool shared;
};

/* The QoS in force; depth is 0 for keep all. */
struct rmwbench_qos {
  bool reliable, transient_local, keep_all;
  int32_t depth;
};

/* A topic of raw CDR under any type name, `body_bytes` of it fixed: shared memory carries just that. `*type` is borrowed from the topic.
 * Returns the topic or a negative return code. */
int32_t rmwbench_topic(int32_t participant, const char *name, const char *type_name, uint32_t body_bytes, const void **type);

/* Writes the concatenated parts as one message (CDR, header included), by one copy. */
int32_t rmwbench_write(int32_t writer, const void *type, const struct rmwbench_part *parts, size_t count);

/* Takes one message and returns how many it took (0 or 1), or a negative return code. What has no data is released: NULL. */
int32_t rmwbench_take(int32_t reader, void **message);
void rmwbench_view_of(const void *message, struct rmwbench_view *view);
void rmwbench_release(void *message);

/* Peers matched now: readers of a writer, writers of a reader. */
uint32_t rmwbench_readers_matched(int32_t writer);
uint32_t rmwbench_writers_matched(int32_t reader);
void rmwbench_lost(int32_t reader, uint32_t *lost, uint32_t *rejected);
/* 8 bytes that name an endpoint: the halves of its GUID, combined. */
uint64_t rmwbench_guid(int32_t entity);

/* Arguments as in ROS 2's words; the caller deletes the QoS with dds_delete_qos. */
void *rmwbench_qos_asked(const struct rmwbench_qos *asked);
bool rmwbench_qos_granted(int32_t entity, struct rmwbench_qos *granted);

/* Calls `counter` for each of Cyclone's own statistics of an entity. */
void rmwbench_statistics(int32_t entity, void *context, void (*counter)(void *context, const char *name, uint64_t value));

/* Cyclone's warnings and errors go to `line` from now on, besides stderr; NULL: no more. */
void rmwbench_log(void (*line)(const char *text, size_t size));

#endif
