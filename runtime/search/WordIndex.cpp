// 1. The weight of a word that n of N documents have is log((N + 1) / n)
//    (inverse document frequency; Sparck Jones 1972). A word of the query that
//    no document has weighs as much as a word of a single document.
// 2. Coverage is the share of the query's weight that a document has: words of
//    its names count in full, words of only its description in part.
// 3. Likeness is the greatest weighted Jaccard index of the query and one of
//    the document's names, or the first words of its description.
// 4. The score is the mean of both. A document gets a small bonus if it is in
//    the section in which the query was written, and one more if the query
//    contains all words of its own name: `disable_chunked_prefix_cache`
//    contains `prefix_cache`. For documents of the section, words of the
//    section's name do not count: `checkpoint` in `num_checkpoints_to_keep`.

#include "runtime/search/WordIndex.h"

#include "runtime/search/Words.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace reciperun::search {
namespace {

/// The weight of a word that only the description has, relative to a word of a
/// name.
constexpr double partOfText = 0.6;
/// The bonus for a document of the query's section, and for a document or a
/// query without a section.
constexpr double ofSamePlace = 0.15;
constexpr double ofNoPlace = 0.08;
/// The bonus for a document of the section whose own name the query contains.
constexpr double ofOwnName = 0.1;
/// Shorter own names are abbreviations and get no such bonus: they say little
/// in a longer name.
constexpr size_t shortestOwnName = 4;
/// Documents whose score is at most this much below the best are about as
/// likely.
constexpr double margin = 0.05;

/// The least length of both parts of a compound word such as `microbatch`.
constexpr size_t shortestPart = 4;

/// A description's first words, which say what the document is.
std::string_view startOf(std::string_view text) {
  return text.substr(
      0, std::min({text.find(". "), text.find(": "), text.find("; ")}));
}

/// Whether a section is the query's section or within it, as `optimizer.lr` in
/// `optimizer`.
bool isOfPlace(std::string_view place, std::string_view ofQuery) {
  return !ofQuery.empty() && place.starts_with(ofQuery) &&
         (place.size() == ofQuery.size() || place[ofQuery.size()] == '.');
}

double advanceOf(std::string_view place, std::string_view ofQuery) {
  if (place.empty() || ofQuery.empty())
    return ofNoPlace;
  return isOfPlace(place, ofQuery) ? ofSamePlace : 0;
}

} // namespace

WordIndex::WordIndex(std::vector<Document> given)
    : documents(std::move(given)) {
  for (const Document& document : documents)
    add(document);
}

void WordIndex::add(const Document& document) {
  Entry entry;
  std::vector<std::string> names = document.otherNames;
  if (!document.name.empty())
    names.insert(names.begin(), document.name);
  for (std::string& name : names) {
    const auto words = wordsOf(name);
    entry.names.push_back({std::move(name), {words.begin(), words.end()}});
    entry.ofNames.insert(words.begin(), words.end());
  }
  const auto words = wordsOf(document.text);
  entry.ofText = {words.begin(), words.end()};
  const auto start = wordsOf(startOf(document.text));
  if (!start.empty())
    entry.names.push_back({"", {start.begin(), start.end()}});
  Words all = entry.ofNames;
  all.insert(entry.ofText.begin(), entry.ofText.end());
  for (const std::string& word : all)
    ++frequencies[word];
  entries.push_back(std::move(entry));
}

double WordIndex::weightOf(const std::string& word) const {
  const auto known = frequencies.find(word);
  const size_t count = known == frequencies.end() ? 1 : known->second;
  return std::log(double(entries.size() + 1) / double(count));
}

double WordIndex::weightOf(const Words& words) const {
  double weight = 0;
  for (const std::string& word : words)
    weight += weightOf(word);
  return weight;
}

WordIndex::Words WordIndex::wordsOfQuery(std::string_view query) const {
  Words words;
  for (const std::string& word : wordsOf(query)) {
    size_t cut = 0;
    for (size_t at = shortestPart; at + shortestPart <= word.size(); ++at)
      if (!frequencies.count(word) && frequencies.count(word.substr(0, at)) &&
          frequencies.count(word.substr(at)))
        cut = at;
    words.insert(cut ? word.substr(0, cut) : word);
    if (cut)
      words.insert(word.substr(cut));
  }
  return words;
}

/// The words of the last name of a path.
WordIndex::Words WordIndex::placeWords(std::string_view place) {
  const auto words = wordsOf(place.substr(place.rfind('.') + 1));
  return {words.begin(), words.end()};
}

/// The words that are not `others`; all if none is left.
WordIndex::Words WordIndex::without(const Words& words, const Words& others) {
  Words left;
  std::ranges::set_difference(words, others, std::inserter(left, left.end()));
  return left.empty() ? words : left;
}

Match WordIndex::match(const Words& words, size_t document,
                       const Words& ofPlace) const {
  const Entry& entry = entries[document];
  const double whole = weightOf(words);
  double covered = 0;
  for (const std::string& word : words)
    covered += weightOf(word) * (entry.ofNames.count(word)  ? 1
                                 : entry.ofText.count(word) ? partOfText
                                                            : 0);
  double likeness = 0;
  std::string nearest;
  for (const Name& name : entry.names) {
    double common = 0;
    double own = 0;
    for (const std::string& word : name.words) {
      common += words.count(word) ? weightOf(word) : 0;
      own += ofPlace.count(word) ? 0 : weightOf(word);
    }
    const double either = whole + own - common;
    if (either <= 0 || common / either <= likeness)
      continue;
    likeness = common / either;
    nearest = name.text;
  }
  if (whole <= 0)
    return {document, nearest, 0};
  // A single word is in the names of many documents, so its coverage does not
  // count.
  const double coverage = words.size() == 1 ? likeness : covered / whole;
  return {document, nearest, (coverage + likeness) / 2};
}

bool WordIndex::hasOwnName(const Words& words, size_t document) const {
  const Entry& entry = entries[document];
  return documents[document].name.size() >= shortestOwnName &&
         std::ranges::includes(words, entry.names.front().words);
}

std::vector<Match> WordIndex::ranked(std::string_view query,
                                     std::string_view place) const {
  const Words words = wordsOfQuery(query);
  const Words ofPlace = placeWords(place);
  const Words others = without(words, ofPlace);
  std::vector<Match> matches;
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool isHere = isOfPlace(documents[i].place, place);
    Match found = isHere ? match(others, i, ofPlace) : match(words, i, Words());
    if (found.score <= 0)
      continue;
    found.score += advanceOf(documents[i].place, place);
    if (isHere && hasOwnName(words, i))
      found.score += ofOwnName;
    matches.push_back(found);
  }
  std::ranges::stable_sort(matches, std::greater(), &Match::score);
  return matches;
}

std::vector<Match> WordIndex::find(std::string_view query,
                                   std::string_view place, double least) const {
  constexpr size_t most = 2;
  std::vector<Match> matches = ranked(query, place);
  const auto isLikely = [&](const Match& each) {
    return each.score >= least && each.score >= matches.front().score - margin;
  };
  const auto likely = std::ranges::count_if(matches, isLikely);
  if (size_t(likely) > most)
    return {};
  matches.resize(size_t(likely));
  return matches;
}

} // namespace reciperun::search
