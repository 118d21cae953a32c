// One data type for every topic: bytes that are already laid out, so that no IDL and no generated
// code is in the path.
//
// Fast DDS forces exactly one copy on each side, in serialize and in deserialize; that is the
// memcpy here, and nothing is added to it. The layout travels with the sample and not with the
// type, because types of one name share one registration per participant while `Bytes(64)` and
// `Bytes(1024)` differ in their prefix.
//
// Fast DDS may lend samples of a plain type and share them between processes as they are, because
// the type has one size. As there is one object per name here, that size is set while an endpoint
// of the type is made or a sample is lent.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <fastdds/dds/topic/TopicDataType.hpp>

#include <rmwbench_worker.h>

#include "fastdds_api.hpp"

namespace rmwbench {

// The CDR around a payload.
struct Layout {
  std::vector<uint8_t> prefix;
  std::vector<uint8_t> suffix;

  explicit Layout(const rmwbench_message_type &type)
      : prefix(type.cdr_prefix, type.cdr_prefix + type.cdr_prefix_bytes),
        suffix(type.cdr_suffix, type.cdr_suffix + type.cdr_suffix_bytes) {}

  size_t around() const { return prefix.size() + suffix.size(); }
  size_t size(size_t payload_bytes) const { return around() + payload_bytes; }

  // A lent sample is the message after its encapsulation, which Fast DDS writes itself. Writes the
  // CDR around `bytes` of payload and returns where the payload begins.
  uint8_t *construct(uint8_t *sample, size_t bytes) const;
  const uint8_t *payload_of(const uint8_t *sample) const {
    return sample + prefix.size() - encapsulation_bytes;
  }
  void *sample_of(uint8_t *payload) const {
    return payload - (prefix.size() - encapsulation_bytes);
  }

  static constexpr size_t encapsulation_bytes = 4;
};

// The data that a writer passes to Fast DDS: the caller's payload, in place.
struct Outgoing {
  const Layout *layout;
  const uint8_t *payload;
  size_t bytes;
};

// The data that a reader gets from Fast DDS: a buffer that is used again for each message and grows
// if necessary.
struct Incoming {
  const Layout *layout = nullptr;
  size_t expected = 0;                      // bytes of payload in the type
  std::atomic<int64_t> *refused = nullptr;  // messages too short to hold their own layout
  std::unique_ptr<uint8_t[]> buffer;
  size_t capacity = 0;
  size_t bytes = 0;

  // Not value-initialised: zeroing 6 MB that the next line overwrites would be a second copy.
  void reserve(size_t size) {
    if (size > capacity) {
      buffer.reset(new uint8_t[size]);
      capacity = size;
    }
  }

  // Called before the first message, so that its copy does not fault pages in: the other workers'
  // readers also write their memory once.
  void prefault(size_t size) {
    reserve(size);
    if (size > 0) std::memset(buffer.get(), 0, size);
  }
};

class RawType : public fd::TopicDataType {
 public:
  RawType(const char *name, bool plain);

  // Holds the type's size at `bytes`, encapsulation included, until the lock is released; does
  // nothing if the type is not plain.
  std::unique_lock<std::mutex> sized(size_t bytes);

  bool is_bounded() const override { return plain_; }
#if RMWBENCH_FASTDDS_MAJOR >= 3
  bool is_plain(fd::DataRepresentationId_t) const override { return plain_; }
#else
  bool is_plain() const override { return plain_; }
  bool is_plain(fd::DataRepresentationId_t) const {
    return plain_;
  }  // overrides what later 2.x ask instead
#endif
  bool construct_sample(void *) const override {
    return plain_;
  }  // the writer lays out what it lends, see Layout::construct

#if RMWBENCH_FASTDDS_MAJOR >= 3
  bool serialize(const void *const data, rtps::SerializedPayload_t &payload,
                 fd::DataRepresentationId_t) override {
    return write(data, payload);
  }
  bool deserialize(rtps::SerializedPayload_t &payload, void *data) override {
    return read(payload, data);
  }
  uint32_t calculate_serialized_size(const void *const data, fd::DataRepresentationId_t) override {
    return size(data);
  }
  void *create_data() override { return new Incoming(); }
  void delete_data(void *data) override { delete static_cast<Incoming *>(data); }
  bool compute_key(rtps::SerializedPayload_t &, rtps::InstanceHandle_t &, bool) override {
    return false;
  }
  bool compute_key(const void *const, rtps::InstanceHandle_t &, bool) override { return false; }
#else
  using fd::TopicDataType::getSerializedSizeProvider;
  using fd::TopicDataType::serialize;  // 2.14 adds overloads, which call these
  bool serialize(void *data, rtps::SerializedPayload_t *payload) override {
    return write(data, *payload);
  }
  bool deserialize(rtps::SerializedPayload_t *payload, void *data) override {
    return payload != nullptr && read(*payload, data);
  }
  std::function<uint32_t()> getSerializedSizeProvider(void *data) override {
    return [data] { return size(data); };
  }
  void *createData() override { return new Incoming(); }
  void deleteData(void *data) override { delete static_cast<Incoming *>(data); }
  bool getKey(void *, rtps::InstanceHandle_t *, bool) override { return false; }
#endif

 private:
  const bool plain_;
  std::mutex mutex_;

  static uint32_t size(const void *data);
  static bool write(const void *data, rtps::SerializedPayload_t &payload);
  static bool read(rtps::SerializedPayload_t &payload, void *data);
};

}  // namespace rmwbench
