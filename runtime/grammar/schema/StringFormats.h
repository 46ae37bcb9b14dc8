// The values of the keyword `format` that a grammar can hold to.

#ifndef RECIPERUN_GRAMMAR_SCHEMA_STRINGFORMATS_H
#define RECIPERUN_GRAMMAR_SCHEMA_STRINGFORMATS_H

#include <string>
#include <string_view>

namespace reciperun::grammar {

/// The regular expression of a format, which matches the whole text; empty when
/// the format is not supported.
std::string patternOfFormat(std::string_view format);

/// The supported formats, for messages: "`date`, `time`, ...".
std::string knownFormats();

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_SCHEMA_STRINGFORMATS_H
