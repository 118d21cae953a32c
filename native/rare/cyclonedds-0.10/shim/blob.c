/* Plain functions over the API's structs: nothing here decides anything. */
#include "blob.h"

#include "type.h"

int32_t rmwbench_topic(int32_t participant, const char *name, const char *type_name,
                       uint32_t body_bytes, const void **type) {
  struct ddsi_sertype *new_type = rmwbench_type_new(type_name, body_bytes);
  const dds_entity_t topic =
      dds_create_topic_sertype(participant, name, &new_type, NULL, NULL, NULL);
  /* The topic has taken our reference, and `new_type` is now the one in use, which the topic keeps
   * alive. */
  if (topic < 0) ddsi_sertype_unref(new_type);
  *type = new_type;
  return topic;
}

int32_t rmwbench_write(int32_t writer, const void *type, const struct iovec *parts, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; i++) size += parts[i].iov_len;
  struct ddsi_serdata *message =
      ddsi_serdata_from_ser_iov(type, SDK_DATA, (ddsrt_msg_iovlen_t)count, parts, size);
  return dds_writecdr(writer, message);
}

int32_t rmwbench_take(int32_t reader, void **message) {
  dds_sample_info_t info;
  struct ddsi_serdata *taken;
  const dds_return_t count = dds_takecdr(reader, &taken, 1, &info, DDS_ANY_STATE);
  *message = NULL;
  if (count <= 0) return count;
  if (info.valid_data) {
    *message = taken;
  } else {
    ddsi_serdata_unref(taken);
  }
  return count;
}

void rmwbench_release(void *message) { ddsi_serdata_unref(message); }
