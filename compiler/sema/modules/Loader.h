// Where sema gets the files that a recipe imports.
//
// Sema does not parse; the driver (or a test) gives it a Loader that does.

#ifndef RECIPEC_SEMA_MODULES_LOADER_H
#define RECIPEC_SEMA_MODULES_LOADER_H

#include "compiler/ast/Ast.h"

#include <string>
#include <vector>

namespace recipec::sema {

/// What became of a load.
struct Loaded {
  enum class State {
    parsed,
    notFound,
    broken, // it is there; its errors have been reported
  };
  State state = State::notFound;
  const ast::File* file = nullptr; // of `parsed`; lives as long as the Loader
};

class Loader {
public:
  virtual ~Loader() = default;

  /// The file at a normalised path: `std/models/llama.recipe`, or a path that
  /// was made from the importing file's name. The same path gives the same
  /// file again.
  virtual Loaded load(const std::string& path) = 0;

  /// The paths of all files of the standard library, for suggestions.
  virtual std::vector<std::string> standardFiles() const = 0;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODULES_LOADER_H
