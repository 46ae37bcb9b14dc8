// Rules that translate the keys of a configuration, and the values they find.

#ifndef RECIPEC_IMPORT_RULES_H
#define RECIPEC_IMPORT_RULES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/Entries.h"
#include "compiler/import/Job.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer {

/// Parses a number; nullopt if the text is not a number, or not finite.
std::optional<double> numberOf(std::string_view text);

/// How the value of a key is read.
enum class Reading {
  number, // of any kind
  count,  // a whole number
  text,
  texts,   // a list
  flag,    // true or false; an option without a value is true
  omitted, // `meaning` is the reason
  implied, // the recipe says it already, or it describes the file itself
};

/// A rule for a key, in which `*` at the beginning or end matches any text. The
/// meaning is a name in Found.
struct Rule {
  std::string_view key;
  Reading reading;
  std::string_view meaning = {};
};

/// The values of a configuration by their meaning, which is a path of a recipe
/// (`batch.global`) or a name that FoundJob.h lists (`devices`).
class Found {
public:
  /// Takes a value and marks it as used; nullopt if the configuration lacks it.
  std::optional<std::string> take(const std::string& meaning);
  std::optional<double> takeNumber(const std::string& meaning);
  std::optional<int64_t> takeCount(const std::string& meaning);
  std::vector<std::string> takeList(const std::string& meaning);
  bool has(const std::string& meaning) const {
    return values.contains(meaning);
  }
  bool takeFlag(const std::string& meaning);
  void put(const std::string& meaning, std::vector<std::string> value) {
    values[meaning] = std::move(value);
  }
  /// Puts the values of an entry, and keeps how the input spells it.
  void putEntry(const std::string& meaning, const Entry& entry);

  /// How the input spells the entries that nothing took, in the order of their
  /// meanings.
  std::vector<std::string> untaken() const;

  /// Adds the values of another configuration.
  void add(const Found& other);

  std::vector<Omission> omissions;

private:
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, std::string> spellings; // by meaning
};

/// Applies the first matching rule to each entry. Entries without a rule, and
/// those with the reading `omitted`, become omissions. Reports values that do
/// not fit their rule.
Found applyRules(const std::vector<Entry>& entries, std::span<const Rule> rules,
                 diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_RULES_H
