/* The raw type and its messages, for the shim itself. */
#ifndef RMWBENCH_TYPE_H
#define RMWBENCH_TYPE_H

#include "blob.h"
#include "dds/dds.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_sertype.h"

#define HEADER_BYTES 4u

struct rmwbench_message {
  struct ddsi_serdata common;
  uint32_t size; /* of the CDR; 0: the message is common.iox_chunk */
  uint8_t cdr[];
};

struct ddsi_sertype *rmwbench_type_new(const char *name, uint32_t body_bytes);

#endif
