// Opens libraries with the system's loader.

#include "runtime/device/cuda/SharedLibrary.h"

#include <dlfcn.h>

namespace reciperun::device {

std::string versionText(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

Status checkMajorVersion(const std::string& name, size_t found,
                         size_t compiled) {
  if (found / 10000 == compiled / 10000)
    return Status::ok();
  const std::string major = name + " " + std::to_string(compiled / 10000);
  return Status::error("the " + name + " that was found is " +
                       versionText(found) + ", and this program was compiled " +
                       "for " + versionText(compiled) + ": install " + major +
                       ", or name its folder first in LD_LIBRARY_PATH");
}

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
