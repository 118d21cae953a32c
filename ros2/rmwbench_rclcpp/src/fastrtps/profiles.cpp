// Whether Fast DDS took the profiles of a file. Where it cannot parse the one that its variable
// names, it says so on stderr and runs as installed. Asked for that file by name it answers; what
// it has taken it does not read again.

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>

// 1: it did, 0: it did not.
extern "C" __attribute__((visibility("default"))) int rmwbench_fastrtps_took_profiles(
    const char *path) {
  using eprosima::fastdds::dds::DomainParticipantFactory;
  auto answer = DomainParticipantFactory::get_instance()->load_XML_profiles_file(path);
  return answer == decltype(answer)() ? 1 : 0;  // a class in Fast DDS 2, a number in 3
}
