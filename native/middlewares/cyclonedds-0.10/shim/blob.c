/* Plain functions over what the API has as structs: nothing here decides anything. */
#include "blob.h"

#include <string.h>

#include "dds/ddsc/dds_statistics.h"
#include "dds/ddsi/ddsi_guid.h"
#include "type.h"

int32_t rmwbench_topic(int32_t participant, const char *name, const char *type_name, uint32_t body_bytes, const void **type) {
  struct ddsi_sertype *made = rmwbench_type_new(type_name, body_bytes);
  const dds_entity_t topic = dds_create_topic_sertype(participant, name, &made, NULL, NULL, NULL);
  /* The topic has taken our reference, and `made` is now the one in use, which it keeps alive. */
  if (topic < 0) ddsi_sertype_unref(made);
  *type = made;
  return topic;
}

int32_t rmwbench_write(int32_t writer, const void *type, const struct rmwbench_part *parts, size_t count) {
  ddsrt_iovec_t list[5];
  size_t size = 0;
  if (count > sizeof list / sizeof *list) return DDS_RETCODE_BAD_PARAMETER;
  for (size_t i = 0; i < count; i++) {
    list[i].iov_base = (void *)parts[i].bytes;
    list[i].iov_len = parts[i].size;
    size += parts[i].size;
  }
  struct ddsi_serdata *message = ddsi_serdata_from_ser_iov(type, SDK_DATA, (ddsrt_msg_iovlen_t)count, list, size);
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

uint32_t rmwbench_readers_matched(int32_t writer) {
  dds_publication_matched_status_t status = {0};
  dds_get_publication_matched_status(writer, &status);
  return status.current_count;
}

uint32_t rmwbench_writers_matched(int32_t reader) {
  dds_subscription_matched_status_t status = {0};
  dds_get_subscription_matched_status(reader, &status);
  return status.current_count;
}

void rmwbench_lost(int32_t reader, uint32_t *lost, uint32_t *rejected) {
  dds_sample_lost_status_t lost_status = {0};
  dds_sample_rejected_status_t rejected_status = {0};
  dds_get_sample_lost_status(reader, &lost_status);
  dds_get_sample_rejected_status(reader, &rejected_status);
  *lost = lost_status.total_count;
  *rejected = rejected_status.total_count;
}

uint64_t rmwbench_guid(int32_t entity) {
  dds_guid_t guid;
  uint64_t half[2];
  if (dds_get_guid(entity, &guid) != DDS_RETCODE_OK) return 0;
  memcpy(half, guid.v, sizeof half);
  return half[0] ^ half[1];
}

void *rmwbench_qos_asked(const struct rmwbench_qos *asked) {
  dds_qos_t *qos = dds_create_qos();
  const dds_history_kind_t history = asked->keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST;
  const int32_t depth = asked->keep_all ? DDS_LENGTH_UNLIMITED : asked->depth;
  dds_qset_history(qos, history, depth);
  dds_qset_reliability(qos, asked->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
                       asked->reliable ? DDS_INFINITY : 0);
  dds_qset_writer_data_lifecycle(qos, false);
  /* Asked by name, because shared memory is only for a QoS that says so. */
  dds_qset_liveliness(qos, DDS_LIVELINESS_AUTOMATIC, DDS_INFINITY);
  dds_qset_deadline(qos, DDS_INFINITY);
  dds_qset_durability(qos, asked->transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  if (asked->transient_local) {
    dds_qset_durability_service(qos, 0, history, depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  }
  return qos;
}

bool rmwbench_qos_granted(int32_t entity, struct rmwbench_qos *granted) {
  dds_qos_t *qos = dds_create_qos();
  dds_history_kind_t history;
  dds_reliability_kind_t reliability;
  dds_durability_kind_t durability;
  dds_duration_t blocking;
  const bool read = dds_get_qos(entity, qos) == DDS_RETCODE_OK && dds_qget_history(qos, &history, &granted->depth) &&
                    dds_qget_reliability(qos, &reliability, &blocking) && dds_qget_durability(qos, &durability);
  dds_delete_qos(qos);
  if (read) {
    granted->reliable = reliability == DDS_RELIABILITY_RELIABLE;
    granted->transient_local = durability != DDS_DURABILITY_VOLATILE;
    granted->keep_all = history == DDS_HISTORY_KEEP_ALL;
    if (granted->keep_all) granted->depth = 0;
  }
  return read;
}

void rmwbench_statistics(int32_t entity, void *context, void (*counter)(void *context, const char *name, uint64_t value)) {
  struct dds_statistics *statistics = dds_create_statistics(entity);
  if (statistics == NULL) return;
  if (dds_refresh_statistics(statistics) == DDS_RETCODE_OK) {
    for (size_t i = 0; i < statistics->count; i++) {
      const struct dds_stat_keyvalue *item = &statistics->kv[i];
      counter(context, item->name, item->kind == DDS_STAT_KIND_UINT32 ? item->u.u32 : item->u.u64);
    }
  }
  dds_delete_statistics(statistics);
}

static void (*heard)(const char *text, size_t size);

static void sink(void *context, const dds_log_data_t *data) {
  (void)context;
  fwrite(data->message, 1, data->size, stderr);
  if (heard != NULL) heard(data->message, data->size);
}

void rmwbench_log(void (*line)(const char *text, size_t size)) {
  heard = line;
  dds_set_log_sink(sink, NULL);
}
