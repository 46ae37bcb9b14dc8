// Opens libraries by the system's loader.

#include "runtime/device/cuda/SharedLibrary.h"

#include <dlfcn.h>

namespace reciperun::device {

Status SharedLibrary::open(const std::string& name, const std::string& source) {
  if (handle)
    return Status::ok();
  file = name;
  handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle)
    return Status::ok();
  const char* cause = dlerror();
  return Status::error("cannot open `" + name + "` (" +
                       (cause ? cause : "no cause given") + "): install " +
                       source + ", or name its folder in LD_LIBRARY_PATH");
}

Status SharedLibrary::findSymbol(const char* name, void*& symbol) const {
  symbol = dlsym(handle, name);
  if (symbol)
    return Status::ok();
  return Status::error("`" + file + "` has no `" + name +
                       "`: it is of another version than this program wants");
}

} // namespace reciperun::device
