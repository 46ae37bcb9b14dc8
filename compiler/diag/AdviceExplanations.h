// The long texts of the kinds of advice.

#ifndef RECIPEC_DIAG_ADVICEEXPLANATIONS_H
#define RECIPEC_DIAG_ADVICEEXPLANATIONS_H

#include "compiler/diag/Diagnostic.h"

#include <string_view>

namespace recipec::diag {

/// The text of a kind of advice, in the form of Explanations.cpp; asserts that
/// the kind is one.
std::string_view adviceText(Kind kind);

} // namespace recipec::diag

#endif // RECIPEC_DIAG_ADVICEEXPLANATIONS_H
