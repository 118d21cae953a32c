#include "beside.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace rmwbench {

void *beside(const std::string &file, const char *symbol, std::string &why) {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void *>(&beside), &self) == 0) {
    why = "this library does not know its own path";
    return nullptr;
  }
  const auto path = std::filesystem::path(self.dli_fname).parent_path() / file;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *found = library != nullptr ? dlsym(library, symbol) : nullptr;
  if (found == nullptr) {
    const char *error = dlerror();
    why = error != nullptr ? error : "cannot be loaded";
  }
  return found;
}

}  // namespace rmwbench
