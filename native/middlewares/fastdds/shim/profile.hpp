// Profiles are Fast DDS's own XML, with Fast DDS's own rules: a profile marked
// is_default_profile="true" applies to every participant, writer and reader, and a writer or reader
// profile named after a topic ("/camera") applies to that topic, as with rmw_fastrtps.
//
// A process has one profile: Fast DDS keeps a loaded profile for ever and for all sessions. A
// session without a profile is unaffected, because this code looks the defaults up by name and does
// not leave this to Fast DDS.
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

// Sends Fast DDS's whole log to stderr (by itself it writes information to stdout).
void log_to_stderr();

// Disables environment variables and files in the working directory that Fast DDS would also read:
// an arm is its profile.
void shut_out_the_environment();

class Profile {
 public:
  // Loads the text, if there is one. Throws Fault: INVALID with the parser's own text. Disables the
  // environment, except for the file named here.
  Profile(const rmwbench_profile &profile, const std::string &environment_file);

  fd::DomainParticipantQos participant() const;
  fd::DataWriterQos writer(const fd::Publisher &publisher, const char *topic) const;
  fd::DataReaderQos reader(const fd::Subscriber &subscriber, const char *topic) const;

 private:
  bool loaded_ = false;
  // The names of the profiles marked as default; empty if there is none.
  std::string participant_, writer_, reader_;
  std::string text_;
};

}  // namespace rmwbench
