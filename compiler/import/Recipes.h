// Writes jobs as the text of a recipe file.

#ifndef RECIPEC_IMPORT_RECIPES_H
#define RECIPEC_IMPORT_RECIPES_H

#include "compiler/import/Job.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer {

/// Converts a name to an identifier of the language: lower case, with `_` for
/// other characters. `Meta-Llama-3-8B` becomes `meta_llama_3_8b`.
std::string identifierOf(std::string_view text);

/// Quotes a text as a string literal of the language.
std::string literal(std::string_view text);

/// Makes the names of jobs unique: adds `_512gpus` if their numbers of ranks
/// differ, else `_2`, `_3`, ...
void distinguishNames(std::vector<Job>& jobs);

/// A file with one recipe per job, in the order of the jobs. `header` is a list
/// of sentences about all jobs, each a comment line. The text is not formatted.
std::string recipesText(const std::vector<Job>& jobs,
                        const std::vector<std::string>& header);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_RECIPES_H
