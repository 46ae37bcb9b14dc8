// Loads the files that a recipe imports.
//
// Sema does not parse. The driver (or a test) gives it a Loader that does.

#ifndef RECIPEC_SEMA_MODULES_LOADER_H
#define RECIPEC_SEMA_MODULES_LOADER_H

#include "compiler/ast/Ast.h"

#include <string>
#include <vector>

namespace recipec::sema {

/// The result of a load.
struct Loaded {
  enum class State {
    parsed,
    notFound,
    broken, // it exists; its errors have been reported
  };
  State state = State::notFound;
  const ast::File* file = nullptr; // of `parsed`; lives as long as the Loader
};

class Loader {
public:
  virtual ~Loader() = default;

  /// Loads the file at a normalised path: `std/models/llama.recipe`, or a path
  /// derived from the importing file's name. The same path returns the same
  /// file.
  virtual Loaded load(const std::string& path) = 0;

  /// The paths of all files of the standard library, for suggestions.
  virtual std::vector<std::string> standardFiles() const = 0;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODULES_LOADER_H
