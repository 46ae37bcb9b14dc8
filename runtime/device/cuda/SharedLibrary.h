// A library that is opened when it is first needed: a program built for GPUs
// also runs on machines that have none, and a missing library is told in our
// words.

#ifndef RECIPERUN_DEVICE_CUDA_SHAREDLIBRARY_H
#define RECIPERUN_DEVICE_CUDA_SHAREDLIBRARY_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <string>

namespace reciperun::device {

/// As `9.19.0`, of numbers as libraries count their versions: 91900.
std::string versionText(size_t version);

/// Fails where a library that was found is of another major version than its
/// headers, by which this program was compiled. `name` is for people: `cuDNN`.
Status checkMajorVersion(const std::string& name, size_t found,
                         size_t compiled);

class SharedLibrary {
public:
  /// Opens `file`, searched for as the loader does. It stays open to the end of
  /// the process. `source` says in an error where to get it.
  Status open(const std::string& file, const std::string& source);

  /// Sets `function` to the one of that name; fails where the library, of
  /// another version, has none.
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
