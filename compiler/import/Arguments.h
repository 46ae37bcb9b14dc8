// A command line as entries.

#ifndef RECIPEC_IMPORT_ARGUMENTS_H
#define RECIPEC_IMPORT_ARGUMENTS_H

#include "compiler/import/Entries.h"

#include <string>
#include <vector>

namespace recipec::importer {

/// A word of a command line and its place.
struct Word {
  std::string text;
  SourceRange range;
};

/// A command and its options.
struct CommandLine {
  /// The words before the first option, without `-m`: `python` and a module.
  std::vector<Word> program;
  /// `--num_gpus 8` has the key `--num_gpus`. An option without a value is
  /// `true`; one with several is a list.
  std::vector<Entry> options;
};

/// Splits words into a command and its options. `--name=value` and
/// `--name value` are equal.
CommandLine readArguments(const std::vector<Word>& words);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_ARGUMENTS_H
