// Whether Fast DDS accepted the profiles of a file. If it cannot parse the file that its
// environment variable names, it prints an error to stderr and runs as installed. The check loads
// that file by name and uses the result; Fast DDS does not read a file again that it has accepted.

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>

// Returns 1 if it accepted them, else 0.
extern "C" __attribute__((visibility("default"))) int rmwbench_fastrtps_took_profiles(
    const char *path) {
  using eprosima::fastdds::dds::DomainParticipantFactory;
  auto answer = DomainParticipantFactory::get_instance()->load_XML_profiles_file(path);
  return answer == decltype(answer)() ? 1 : 0;  // a class in Fast DDS 2, a number in 3
}
