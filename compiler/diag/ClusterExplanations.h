// The long texts of findings about manifests and the environment of ranks.

#ifndef RECIPEC_DIAG_CLUSTEREXPLANATIONS_H
#define RECIPEC_DIAG_CLUSTEREXPLANATIONS_H

#include "compiler/diag/Diagnostic.h"

#include <string_view>

namespace recipec::diag {

/// The text of a kind that begins with `Manifest` or `Environment`.
std::string_view clusterText(Kind kind);

} // namespace recipec::diag

#endif // RECIPEC_DIAG_CLUSTEREXPLANATIONS_H
