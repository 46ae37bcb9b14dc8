// Which diagnostics are shown when there are many. Private to this folder.

#ifndef RECIPEC_DIAG_SHOWN_H
#define RECIPEC_DIAG_SHOWN_H

#include "compiler/diag/Render.h"

#include <string>
#include <vector>

namespace recipec::diag {

/// The first `options.most` errors and the first `options.most` warnings, in
/// order.
struct Shown {
  std::vector<const Diagnostic*> diagnostics;
  std::string rest; // `and 9,950 more errors`; empty when all are shown
};

Shown chooseShown(const Engine& engine, const RenderOptions& options);

/// The option that shows the rest.
inline constexpr const char* restHelp =
    "`--max-errors=N` shows N of them, `--max-errors=all` as many as are kept";

} // namespace recipec::diag

#endif // RECIPEC_DIAG_SHOWN_H
