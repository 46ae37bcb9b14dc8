// Jobs to the text of a recipe file.

#ifndef RECIPEC_IMPORT_RECIPES_H
#define RECIPEC_IMPORT_RECIPES_H

#include "compiler/import/Job.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer {

/// A name as the language takes it: lower case, `_` for other characters.
/// `Meta-Llama-3-8B` becomes `meta_llama_3_8b`.
std::string identifierOf(std::string_view text);

/// A string literal of the language with this content.
std::string literal(std::string_view text);

/// Gives jobs of one name different ones: `_512gpus` where the numbers of ranks
/// differ, then `_2`, `_3`.
void distinguishNames(std::vector<Job>& jobs);

/// A file with one recipe for each job, in their order. `header` is a list of
/// sentences about all of them, each a comment line. The text still has to be
/// formatted.
std::string recipesText(const std::vector<Job>& jobs,
                        const std::vector<std::string>& header);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_RECIPES_H
