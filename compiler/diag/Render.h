// Diagnostics as text for people and as JSON for tools.
//
//   error: `tp` = 3 does not divide `heads` = 32 [Indivisible]
//     --> sft.recipe:9:22
//    8 |   model = llama.llama { heads = 32, layers = 2 }
//      |                         ---------- `heads` is 32
//    9 |   parallel { tp = 3 }
//      |              ^^^^^^ the degree
//   note: `tp` shards `heads`, std/schema/parallel.recipe:12
//   help: change `tp` to 2 or 4
//
// A note in a user's file shows its line; a note in the standard library or on
// the command line names its place behind the message. The frame is ASCII.

#ifndef RECIPEC_DIAG_RENDER_H
#define RECIPEC_DIAG_RENDER_H

#include "compiler/diag/Diagnostic.h"

namespace recipec::diag {

inline constexpr size_t noLimit = size_t(-1);

/// How to draw; the caller knows whether it draws on a terminal.
struct RenderOptions {
  bool colour = false; // ANSI colours
  int columns = 120;   // longer lines of source are cut around the range
  /// Whether messages are broken at `columns` too. Not in a log, where a
  /// message is one line that can be searched.
  bool wraps = false;
  /// Errors of their kind are drawn as warnings: what would be wrong elsewhere.
  bool areWarnings = false;
  /// So many errors are drawn, and so many warnings.
  size_t most = noLimit;
};

/// One diagnostic, ending in a newline. Never fails: bytes of the source that
/// are not printable show as `?`.
std::string render(const Diagnostic& diagnostic, const SourceMap& sources,
                   const RenderOptions& options = {});

/// The diagnostics in their order, a blank line between them; where they are
/// more than `options.most`, how many more there are.
std::string render(const Engine& engine, const SourceMap& sources,
                   const RenderOptions& options = {});

/// A JSON array with one object a diagnostic: `kind`, `severity`, `message`,
/// `place` (`file line column end_line end_column`; null where there is none),
/// `label`, `labels` (`text place`), `notes` (`message place`), `helps` and
/// `fix_its` (`place replacement safe`). With `options.areWarnings` all are of
/// the severity `warning`. Where they are more than `options.most`, the last
/// object says so: its `kind` is null, its `severity` `note`.
std::string renderJson(const Engine& engine, const SourceMap& sources,
                       const RenderOptions& options = {});

} // namespace recipec::diag

#endif // RECIPEC_DIAG_RENDER_H
