// Values in place of a section: `parallel = "fsdp"`.

#ifndef RECIPEC_SEMA_TYPES_SECTIONVALUES_H
#define RECIPEC_SEMA_TYPES_SECTIONVALUES_H

#include "compiler/sema/types/Quotation.h"

namespace recipec::sema {

/// Suggests a setting for a value written in place of a section, if other tools
/// use that value for one of the section's fields: `parallel = "fsdp"`,
/// `memory = true`, `cluster = "h100"`.
std::optional<Suggestion> sectionOfOtherTools(Evaluator& evaluator,
                                              const Value& value,
                                              const Schema& schema,
                                              const std::string& section,
                                              const std::string& written);

/// `, sequence = ...`: the other required fields of a record that is given
/// `given`.
std::string othersAskedFor(const Schema& schema, const Field& given);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_SECTIONVALUES_H
