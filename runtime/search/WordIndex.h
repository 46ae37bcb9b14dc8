// Finds the setting that is most likely meant by an unknown name, from the
// words of the settings' names and descriptions.

#ifndef RECIPERUN_SEARCH_WORDINDEX_H
#define RECIPERUN_SEARCH_WORDINDEX_H

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::search {

/// What a query may find: a setting, or a subject without a setting.
struct Document {
  std::string name;                    // its own; empty for a subject
  std::vector<std::string> otherNames; // those of other tools
  std::string text;                    // describes it; may be empty
  std::string place; // path of the section that has it; empty: any
};

struct Match {
  size_t document;     // index into the documents
  std::string nearest; // of its names; empty: its description
  double score;        // from 0 to 1, plus a bonus
};

/// The least score of a suggestion among all settings of a recipe. Of 62 names
/// of other tools that are in no list, 28 get the right suggestion, 2 a wrong
/// one and 32 none, 13 of which have no counterpart.
inline constexpr double leastOfSettings = 0.74;
/// The least score of a suggestion among the few options of a command.
inline constexpr double leastOfOptions = 0.6;

class WordIndex {
public:
  explicit WordIndex(std::vector<Document> documents);

  /// The documents that `query`, a name in the section `place`, most likely
  /// means: one, two that are about as likely, or none if no document is
  /// clearly nearer than the others or reaches the score `least`.
  std::vector<Match> find(std::string_view query, std::string_view place,
                          double least) const;
  /// All documents with a score above 0, the best first.
  std::vector<Match> ranked(std::string_view query,
                            std::string_view place) const;

private:
  using Words = std::set<std::string>;
  struct Name {
    std::string text;
    Words words;
  };
  struct Entry {
    std::vector<Name> names; // its own first
    Words ofNames;           // of all names
    Words ofText;
  };

  void add(const Document& document);
  double weightOf(const std::string& word) const;
  double weightOf(const Words& words) const;
  Words wordsOfQuery(std::string_view query) const;
  static Words placeWords(std::string_view place);
  static Words without(const Words& words, const Words& others);
  Match match(const Words& words, size_t document, const Words& ofPlace) const;
  bool hasOwnName(const Words& words, size_t document) const;

  std::vector<Document> documents;
  std::vector<Entry> entries;
  std::map<std::string, size_t> frequencies; // documents that have the word
};

} // namespace reciperun::search

#endif // RECIPERUN_SEARCH_WORDINDEX_H
