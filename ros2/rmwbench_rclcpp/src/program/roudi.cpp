#include "roudi.hpp"

#include <rmwbench_worker.h>
#include <unistd.h>
#include <rmwbench_fault.hpp>

#include <cstdlib>

namespace rmwbench {

bool roudi_serves() { return rmwbench_roudi_serves() != 0; }

std::string roudi_configuration(const std::string &pools) {
  char file[8192];
  rmwbench_error error;
  if (!rmwbench_roudi_file(pools.c_str(), file, sizeof file, &error))
    throw Fault{error.kind, error.object, error.message};
  return file;
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
