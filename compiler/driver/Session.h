// One compilation's texts, messages and parsed files.

#ifndef RECIPEC_DRIVER_SESSION_H
#define RECIPEC_DRIVER_SESSION_H

#include "compiler/driver/Driver.h"
#include "compiler/driver/Loader.h"
#include "compiler/parse/Parse.h"
#include "compiler/sema/recipes/Select.h"

#include <deque>
#include <optional>

namespace recipec::driver {

/// What a user names on the command line: `FILE`, `FILE:NAME` or, of a sweep,
/// `FILE:NAME@POINT`.
struct Target {
  std::string file;
  std::string recipe; // empty: not named
  std::string point;  // empty: not named
};

/// Splits at the last colon, unless a file has the whole as its name.
Target parseTarget(const std::string& argument);

/// The folder of the target's file, in which relative paths of its recipes
/// start; the working folder for the standard library.
std::string folderOf(const Target& target);

/// Holds everything that a recipe's values point into.
class Session {
public:
  explicit Session(const std::string& argument)
      : Session(parseTarget(argument)) {}
  explicit Session(Target named)
      : target(std::move(named)), loader(sources, engine),
        folder(folderOf(target)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Parses the file and the settings; false with diagnostics.
  bool open(const std::vector<std::string>& arguments);

  /// The recipes and points that the target names, in the order of the file;
  /// see sema::select. Nothing, with diagnostics, where it names none or too
  /// many.
  std::optional<std::vector<sema::Selection>> select(sema::Extent extent);
  /// Takes over what the compilation of the selected one found.
  void take(const diag::Engine& found);
  /// Makes the diagnostics ready to be printed: sorted, each once, and of what
  /// they propose only what helps.
  void arrange();

  /// Makes the one that the target names the selected one.
  bool selectOne();

  /// Checks what the file declares apart from the recipes that are launched.
  void checkDeclarations();

  /// Parses `PATH=VALUE` as a further setting, for a second plan of the same
  /// recipe. `origin` is what messages call its source.
  bool addOverride(std::vector<sema::Override>& overrides,
                   const std::string& text, const std::string& origin);

  Target target;
  SourceMap sources;
  diag::Engine engine;
  diag::Engine doubts; // drawn as warnings: the command goes on
  FileLoader loader;
  std::string folder;              // in which relative paths start
  std::string place = ".";         // folder of what is written
  bool looksForInputs = true;      // when a plan is made
  const ast::File* file = nullptr; // of `open`
  std::vector<std::string> sets;   // as they were given
  std::vector<sema::Override> overrides;
  sema::Selection selected;               // what `compile` compiles
  std::vector<sema::Selection> selection; // of the last `select`
  bool hasCheckedDeclarations = false;

private:
  std::deque<parse::Override> parsed; // stays where it is
};

/// Prints the session's diagnostics in order of place to `invocation.err`;
/// gives the exit code.
int finish(Session& session, const Invocation& invocation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SESSION_H
