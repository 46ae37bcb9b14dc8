// Values in place of a section: `parallel = "fsdp"`.

#ifndef RECIPEC_SEMA_TYPES_SECTIONVALUES_H
#define RECIPEC_SEMA_TYPES_SECTIONVALUES_H

#include "compiler/sema/types/Quotation.h"

namespace recipec::sema {

/// A value in place of a section that other tools have for one of its fields:
/// `parallel = "fsdp"`, `memory = true`, `cluster = "h100"`.
std::optional<Suggestion> sectionOfOtherTools(Evaluator& evaluator,
                                              const Value& value,
                                              const Schema& schema,
                                              const std::string& section,
                                              const std::string& written);

/// `, sequence = ...`: what a record needs beside a field that it is given.
std::string othersAskedFor(const Schema& schema, const Field& given);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_SECTIONVALUES_H
