// A shared library opened on first use. A program built for GPUs also runs on
// machines without GPU libraries, and our own message reports a missing one.

#ifndef RECIPERUN_DEVICE_CUDA_SHAREDLIBRARY_H
#define RECIPERUN_DEVICE_CUDA_SHAREDLIBRARY_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <string>

namespace reciperun::device {

/// Formats a library's version number: 91900 is `9.19.0`.
std::string versionText(size_t version);

/// Fails when the major version of the opened library differs from that of the
/// headers it was compiled with. `name` is a display name: `cuDNN`.
Status checkMajorVersion(const std::string& name, size_t found,
                         size_t compiled);

class SharedLibrary {
public:
  /// Opens `file` with the loader's search rules. It stays open until the
  /// process ends. `source` is the package that an error message recommends.
  Status open(const std::string& file, const std::string& source);

  /// Sets `function` to the function `name`; fails when the library's version
  /// does not have it.
  template <class Function>
  Status find(const char* name, Function*& function) const {
    void* symbol = nullptr;
    RECIPERUN_TRY(findSymbol(name, symbol));
    function = reinterpret_cast<Function*>(symbol);
    return Status::ok();
  }

private:
  Status findSymbol(const char* name, void*& symbol) const;

  std::string file;
  void* handle = nullptr;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_SHAREDLIBRARY_H
