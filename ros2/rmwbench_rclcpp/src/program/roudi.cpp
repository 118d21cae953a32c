#include "roudi.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "fault.hpp"

namespace rmwbench {
namespace {

constexpr uint64_t chunk_multiple = 32;  // of iceoryx 2.0's chunk sizes
// Beyond the message, for the headers of iceoryx and Cyclone DDS, as in the native workers.
constexpr uint64_t margin_bytes = 1024;
constexpr uint64_t largest_message = uint64_t{1} << 31;
constexpr size_t most_pools = 32;

// The digits at the front of `text`, at most `most`; 0 for anything else. `rest`: what follows.
uint64_t number_at_front(const std::string &text, uint64_t most, std::string &rest) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  rest = text.substr(digits);
  if (digits == 0 || digits > 10) return 0;
  const uint64_t found = std::strtoull(text.substr(0, digits).c_str(), nullptr, 10);
  return found <= most ? found : 0;
}

std::pair<uint64_t, uint64_t> pool_of(const std::string &item) {
  const size_t colon = item.find(':');
  std::string unit, rest;
  uint64_t bytes = number_at_front(item.substr(0, colon), largest_message, unit);
  if (unit == "K") bytes <<= 10;
  if (unit == "M") bytes <<= 20;
  const bool sized = unit.empty() || unit == "K" || unit == "M";
  const uint64_t count =
      colon == std::string::npos ? 0 : number_at_front(item.substr(colon + 1), UINT32_MAX, rest);
  if (bytes == 0 || bytes > largest_message || !sized || count == 0 || !rest.empty()) {
    throw Fault{RMWBENCH_ERROR_INVALID, "option roudi_pools",
                "expected SIZE:COUNT, such as 32M:8 (sizes in bytes, K or M), found " + item};
  }
  const uint64_t chunk = bytes + margin_bytes;
  return {(chunk + chunk_multiple - 1) / chunk_multiple * chunk_multiple, count};
}

}  // namespace

bool roudi_serves() {
  const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, "/tmp/roudi", sizeof address.sun_path - 1);
  const bool served = connect(probe, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  close(probe);
  return served;
}

std::string roudi_configuration(const std::string &pools) {
  std::vector<std::pair<uint64_t, uint64_t>> found;
  std::istringstream words(pools);
  for (std::string word; words >> word;) found.push_back(pool_of(word));
  if (found.empty() || found.size() > most_pools) {
    throw Fault{RMWBENCH_ERROR_INVALID, "option roudi_pools",
                "expected 1 to 32 pools SIZE:COUNT, found " + std::to_string(found.size())};
  }
  std::sort(found.begin(), found.end());
  std::string text = "[general]\nversion = 1\n\n[[segment]]\n";
  for (const auto &[bytes, count] : found) {
    text += "\n[[segment.mempool]]\nsize = " + std::to_string(bytes) +
            "\ncount = " + std::to_string(count) + "\n";
  }
  return text;
}

TemporaryFile::TemporaryFile(const std::string &text) {
  if (text.empty()) return;
  char path[] = "/tmp/rmwbench-roudi-XXXXXX.toml";
  const int file = mkstemps(path, 5);
  const bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) {
    close(file);
    path_ = path;
  }
  if (!written)
    throw Fault{RMWBENCH_ERROR_FAILED, path, "the file of RouDi's pools is not written"};
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace rmwbench
