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
// A note in a user's file shows its line. A note in the standard library or on
// the command line has its place after the message. The frame is ASCII.

#ifndef RECIPEC_DIAG_RENDER_H
#define RECIPEC_DIAG_RENDER_H

#include "compiler/diag/Diagnostic.h"

namespace recipec::diag {

inline constexpr size_t noLimit = size_t(-1);

/// How to draw. The caller knows whether the output is a terminal.
struct RenderOptions {
  bool colour = false; // ANSI colours
  int columns = 120;   // longer source lines are cut around the range
  /// Whether messages are wrapped at `columns` too. Off for logs, where a
  /// message is one line that can be searched.
  bool wraps = false;
  /// Draws errors as warnings. The driver uses it for findings that do not stop
  /// the command.
  bool areWarnings = false;
  /// The limit for errors, and separately for warnings.
  size_t most = noLimit;
};

/// Renders one diagnostic, ending in a newline. Unprintable bytes of the source
/// show as `?`.
std::string render(const Diagnostic& diagnostic, const SourceMap& sources,
                   const RenderOptions& options = {});

/// Renders the diagnostics in order with a blank line between them. When there
/// are more than `options.most`, the end says how many more.
std::string render(const Engine& engine, const SourceMap& sources,
                   const RenderOptions& options = {});

/// A JSON array with one object per diagnostic: `kind`, `severity`, `message`,
/// `place` (`file line column end_line end_column`, or null), `label`, `labels`
/// (`text place`), `notes` (`message place`), `helps` and `fix_its` (`place
/// replacement safe`). With `options.areWarnings` every severity is `warning`.
/// When there are more than `options.most`, the last object gives the count of
/// the rest; its `kind` is null and its `severity` is `note`.
std::string renderJson(const Engine& engine, const SourceMap& sources,
                       const RenderOptions& options = {});

} // namespace recipec::diag

#endif // RECIPEC_DIAG_RENDER_H
