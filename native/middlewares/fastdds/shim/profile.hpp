// Profiles are Fast DDS's own XML, with Fast DDS's own rules: what is marked
// is_default_profile="true" applies to every participant, writer and reader, and a writer or reader
// profile named after a topic ("/camera") applies to that topic, as with rmw_fastrtps.
//
// A process holds one profile: Fast DDS keeps what it loaded for good and for everyone. A session
// without a profile is unaffected, because the defaults are looked up by name here and not left to
// Fast DDS.
#pragma once

#include <string>

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>

#include <rmwbench_worker.h>

#include "fastdds_api.hpp"

namespace rmwbench {

// Fast DDS's log goes to stderr whole (it writes information to stdout by itself).
void log_to_stderr();

// Environment variables and files in the working directory that Fast DDS would read besides: an arm
// is its profile.
void shut_out_the_environment();

class Profile {
 public:
  // Loads the text, if there is any. Throws Fault: INVALID with the parser's own words. Shuts out
  // the environment, but for the file named here.
  Profile(const rmwbench_profile &profile, const std::string &environment_file);

  fd::DomainParticipantQos participant() const;
  fd::DataWriterQos writer(const fd::Publisher &publisher, const char *topic) const;
  fd::DataReaderQos reader(const fd::Subscriber &subscriber, const char *topic) const;

 private:
  bool loaded_ = false;
  // Names of the profiles marked as default; empty where there is none.
  std::string participant_, writer_, reader_;
  std::string text_;
};

}  // namespace rmwbench
