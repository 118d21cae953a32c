/* A type of raw CDR for Cyclone DDS 0.10: bytes of any layout, keyless, under any name.
 *
 * 0.10 exports no way to the type that it makes of a descriptor, so that nobody could write CDR
 * with one; but its own types are made of two tables of functions, and anybody may fill another
 * pair. A message on its way to the network is one block: the CDR with its header. A message in
 * shared memory is the body alone, in iceoryx's chunk: of fixed size, so that Cyclone lends chunks
 * and reads them in place. */
#include "type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dds/ddsi/ddsi_keyhash.h"
#include "dds/ddsi/ddsi_shm_transport.h"
#include "dds/ddsi/q_radmin.h"
#include "dds/ddsrt/heap.h"
#include "dds/ddsrt/md5.h"

static const uint8_t plain_cdr_little_endian[HEADER_BYTES] = {0, 1, 0, 0};

/* ---- Messages ---- */

static struct rmwbench_message *message_new(const struct ddsi_sertype *type,
                                            enum ddsi_serdata_kind kind, size_t size) {
  /* Zeros follow it, because RTPS sends multiples of four bytes and reads the padding. */
  const size_t padded = (size + 3) & ~(size_t)3;
  struct rmwbench_message *message = ddsrt_malloc(sizeof *message + padded);
  ddsi_serdata_init(&message->common, type, kind);
  message->common.hash = type->serdata_basehash;
  message->size = (uint32_t)size;
  memset(message->cdr + size, 0, padded - size);
  return message;
}

static const struct rmwbench_message *of(const struct ddsi_serdata *common) {
  return (const struct rmwbench_message *)common;
}

static uint32_t body_bytes_of(const struct ddsi_serdata *common) {
  return iceoryx_header_from_chunk(common->iox_chunk)->data_size;
}

static uint32_t get_size(const struct ddsi_serdata *common) {
  return common->iox_chunk != NULL && of(common)->size == 0 ? HEADER_BYTES + body_bytes_of(common)
                                                            : of(common)->size;
}

static void free_message(struct ddsi_serdata *common) {
  if (common->iox_chunk != NULL && common->iox_subscriber != NULL) {
    free_iox_chunk((iox_sub_t *)common->iox_subscriber, &common->iox_chunk);
  }
  ddsrt_free(common);
}

static struct ddsi_serdata *from_ser(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
                                     const struct nn_rdata *fragment, size_t size) {
  if (size < HEADER_BYTES) return NULL;
  struct rmwbench_message *message = message_new(type, kind, size);
  /* Fragments come in order and may overlap. */
  size_t filled = 0;
  for (; fragment != NULL; fragment = fragment->nextfrag) {
    if (fragment->maxp1 > filled) {
      const unsigned char *payload =
          NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
      memcpy(message->cdr + filled, payload + (filled - fragment->min), fragment->maxp1 - filled);
      filled = fragment->maxp1;
    }
  }
  return &message->common;
}

static struct ddsi_serdata *from_ser_iov(const struct ddsi_sertype *type,
                                         enum ddsi_serdata_kind kind, ddsrt_msg_iovlen_t count,
                                         const ddsrt_iovec_t *parts, size_t size) {
  if (size < HEADER_BYTES) return NULL;
  struct rmwbench_message *message = message_new(type, kind, size);
  size_t filled = 0;
  for (ddsrt_msg_iovlen_t i = 0; i < count && filled < size; i++) {
    const size_t part_bytes = parts[i].iov_len < size - filled ? parts[i].iov_len : size - filled;
    memcpy(message->cdr + filled, parts[i].iov_base, part_bytes);
    filled += part_bytes;
  }
  return &message->common;
}

static struct ddsi_serdata *key_of(const struct ddsi_sertype *type) {
  struct rmwbench_message *message = message_new(type, SDK_KEY, HEADER_BYTES);
  memcpy(message->cdr, plain_cdr_little_endian, HEADER_BYTES);
  return &message->common;
}

static struct ddsi_serdata *from_keyhash(const struct ddsi_sertype *type,
                                         const struct ddsi_keyhash *keyhash) {
  (void)keyhash;
  return key_of(type);
}

/* Makes a message from `sample`, which is a body. */
static struct ddsi_serdata *from_sample(const struct ddsi_sertype *type,
                                        enum ddsi_serdata_kind kind, const void *sample) {
  if (kind != SDK_DATA) return key_of(type);
  struct rmwbench_message *message = message_new(type, kind, HEADER_BYTES + type->iox_size);
  memcpy(message->cdr, plain_cdr_little_endian, HEADER_BYTES);
  memcpy(message->cdr + HEADER_BYTES, sample, type->iox_size);
  return &message->common;
}

/* For a writer (no subscriber) the chunk that it loaned, for a reader the chunk that arrived. */
static struct ddsi_serdata *from_iox(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
                                     void *subscriber, void *chunk) {
  struct rmwbench_message *message = ddsrt_malloc(sizeof *message);
  ddsi_serdata_init(&message->common, type, kind);
  message->common.hash = type->serdata_basehash;
  message->common.iox_chunk = chunk;
  message->common.iox_subscriber = subscriber;
  message->size = 0;
  return &message->common;
}

/* Returns the body in a chunk from any writer of this topic and type; another worker serialised it
 * if it has its header. */
static bool body_of(const struct ddsi_serdata *common, const uint8_t **bytes, size_t *size) {
  *bytes = common->iox_chunk;
  *size = body_bytes_of(common);
  if (shm_get_data_state(common->iox_chunk) != IOX_CHUNK_CONTAINS_SERIALIZED_DATA) return true;
  if (*size < HEADER_BYTES) return false;
  *bytes += HEADER_BYTES;
  *size -= HEADER_BYTES;
  return true;
}

static void to_ser(const struct ddsi_serdata *common, size_t offset, size_t size, void *buffer) {
  if (of(common)->size != 0) {
    memcpy(buffer, of(common)->cdr + offset, size);
    return;
  }
  const uint8_t *body = NULL;
  size_t body_bytes = 0;
  body_of(common, &body, &body_bytes);
  for (size_t i = 0; i < size; i++) {
    const size_t at = offset + i;
    const bool in_body = at >= HEADER_BYTES && at - HEADER_BYTES < body_bytes;
    ((uint8_t *)buffer)[i] = at < HEADER_BYTES ? plain_cdr_little_endian[at]
                             : in_body         ? body[at - HEADER_BYTES]
                                               : 0;
  }
}

static struct ddsi_serdata *to_ser_ref(const struct ddsi_serdata *common, size_t offset,
                                       size_t size, ddsrt_iovec_t *reference) {
  reference->iov_len = (ddsrt_iov_len_t)size;
  if (of(common)->size != 0) {
    reference->iov_base = (void *)(of(common)->cdr + offset);
  } else {
    reference->iov_base = ddsrt_malloc(size);
    to_ser(common, offset, size, reference->iov_base);
  }
  return ddsi_serdata_ref(common);
}

static void to_ser_unref(struct ddsi_serdata *common, const ddsrt_iovec_t *reference) {
  if (of(common)->size == 0) ddsrt_free(reference->iov_base);
  ddsi_serdata_unref(common);
}

static struct ddsi_serdata *to_untyped(const struct ddsi_serdata *common) {
  struct ddsi_serdata *untyped = key_of(common->type);
  untyped->type = NULL;
  return untyped;
}

/* Samples of the typed API are not supported: this worker takes CDR, and nobody else has topics of
 * this type. */
static bool to_sample(const struct ddsi_serdata *common, void *sample, void **bufptr,
                      void *buflim) {
  (void)common, (void)sample, (void)bufptr, (void)buflim;
  return false;
}

static bool untyped_to_sample(const struct ddsi_sertype *type, const struct ddsi_serdata *common,
                              void *sample, void **bufptr, void *buflim) {
  (void)type, (void)common, (void)sample, (void)bufptr, (void)buflim;
  return true;
}

static bool eqkey(const struct ddsi_serdata *a, const struct ddsi_serdata *b) {
  (void)a, (void)b;
  return true;
}

static size_t print(const struct ddsi_sertype *type, const struct ddsi_serdata *common,
                    char *buffer, size_t size) {
  (void)type;
  return (size_t)snprintf(buffer, size, "(%" PRIu32 " bytes)", get_size(common));
}

static void get_keyhash(const struct ddsi_serdata *common, struct ddsi_keyhash *hash,
                        bool force_md5) {
  (void)common, (void)force_md5;
  memset(hash->value, 0, sizeof hash->value);
}

static const struct ddsi_serdata_ops message_ops = {
    .eqkey = eqkey,
    .get_size = get_size,
    .from_ser = from_ser,
    .from_ser_iov = from_ser_iov,
    .from_keyhash = from_keyhash,
    .from_sample = from_sample,
    .to_ser = to_ser,
    .to_ser_ref = to_ser_ref,
    .to_ser_unref = to_ser_unref,
    .to_sample = to_sample,
    .to_untyped = to_untyped,
    .untyped_to_sample = untyped_to_sample,
    .free = free_message,
    .print = print,
    .get_keyhash = get_keyhash,
    .from_iox_buffer = from_iox,
};

void rmwbench_view_of(const void *opaque, struct rmwbench_view *view) {
  const struct ddsi_serdata *common = opaque;
  view->shared = common->iox_chunk != NULL;
  if (view->shared) {
    if (!body_of(common, &view->bytes, &view->size)) view->size = 0;
  } else {
    view->bytes = of(common)->cdr + HEADER_BYTES;
    view->size = of(common)->size - HEADER_BYTES;
  }
}

/* ---- The type ---- */

static void free_type(struct ddsi_sertype *type) {
  ddsi_sertype_fini(type);
  ddsrt_free(type);
}

static void zero_samples(const struct ddsi_sertype *type, void *samples, size_t count) {
  memset(samples, 0, count * type->iox_size);
}

static void realloc_samples(void **samples, const struct ddsi_sertype *type, void *old,
                            size_t old_count, size_t count) {
  const size_t size = type->iox_size;
  char *block = ddsrt_realloc(old, count * size);
  if (count > old_count) memset(block + old_count * size, 0, (count - old_count) * size);
  for (size_t i = 0; i < count; i++) samples[i] = block + i * size;
}

static void free_samples(const struct ddsi_sertype *type, void **samples, size_t count,
                         dds_free_op_t operation) {
  (void)type;
  if (count > 0 && (operation & DDS_FREE_ALL_BIT)) ddsrt_free(samples[0]);
}

static bool equal(const struct ddsi_sertype *a, const struct ddsi_sertype *b) {
  return a->iox_size == b->iox_size;
}

static uint32_t hash(const struct ddsi_sertype *type) { return type->iox_size; }

static const struct ddsi_sertype_ops type_ops = {
    .version = ddsi_sertype_v0,
    .free = free_type,
    .zero_samples = zero_samples,
    .realloc_samples = realloc_samples,
    .free_samples = free_samples,
    .equal = equal,
    .hash = hash,
};

struct ddsi_sertype *rmwbench_type_new(const char *name, uint32_t body_bytes) {
  struct ddsi_sertype *type = ddsrt_calloc(1, sizeof *type);
  ddsi_sertype_init_flags(type, name, &type_ops, &message_ops,
                          DDSI_SERTYPE_FLAG_TOPICKIND_NO_KEY | DDSI_SERTYPE_FLAG_FIXED_SIZE);
  type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
  type->iox_size = body_bytes;
  return type;
}
