// The table of diagnostic kinds, and the engine that collects diagnostics.

#include "compiler/diag/Diagnostic.h"

#include "compiler/base/Utf8.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <tuple>

namespace recipec::diag {

namespace {

struct KindInfo {
  std::string_view name;
  Severity severity;
};

constexpr auto kinds = std::to_array<KindInfo>({
#define DIAGNOSTIC(Name, Level) {#Name, Severity::Level},
#include "compiler/diag/DiagnosticKinds.def"
});

std::tuple<SourceId, uint32_t> placeOf(const Diagnostic& diagnostic) {
  return {diagnostic.range.source, diagnostic.range.begin};
}

/// Adds the subjects of a repeated diagnostic. A diagnostic without subjects
/// belongs to no compilation in particular, and the merged one then has none
/// either.
void addSubjects(Diagnostic& kept, const Diagnostic& repeated) {
  if (kept.subjects.empty() || repeated.subjects.empty()) {
    kept.subjects.clear();
    return;
  }
  for (const std::string& subject : repeated.subjects)
    if (std::find(kept.subjects.begin(), kept.subjects.end(), subject) ==
        kept.subjects.end())
      kept.subjects.push_back(subject);
}

/// Two diagnostics that begin at the same place have one cause when these are
/// equal: kind, end of the range, and text (see causeOf).
using Cause = std::tuple<Kind, uint32_t, std::string>;

Cause fullCauseOf(const Diagnostic& diagnostic) {
  return {diagnostic.kind, diagnostic.range.end,
          causeOf(diagnostic.kind, diagnostic.message)};
}

/// Cuts the middle out of a very long text, such as one with a name of a
/// megabyte.
std::string shortened(std::string text) {
  constexpr size_t most = 2000, head = 1400, tail = 500;
  if (text.size() <= most)
    return text;
  size_t begin = head, end = text.size() - tail;
  while (!beginsCodePoint(text[begin]))
    --begin;
  while (!beginsCodePoint(text[end]))
    ++end;
  return text.substr(0, begin) + " ... " + text.substr(end);
}

} // namespace

std::string_view kindName(Kind kind) {
  return kinds[size_t(kind)].name;
}

Severity kindSeverity(Kind kind) {
  return kinds[size_t(kind)].severity;
}

std::optional<Kind> findKind(std::string_view name) {
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i].name == name)
      return Kind(i);
  return std::nullopt;
}

std::vector<std::string> kindNames() {
  std::vector<std::string> names;
  for (const KindInfo& info : kinds)
    names.emplace_back(info.name);
  return names;
}

Builder& Builder::label(std::string text) {
  diagnostic.label = shortened(std::move(text));
  return *this;
}

Builder& Builder::label(SourceRange range, std::string text) {
  diagnostic.labels.push_back({range, shortened(std::move(text))});
  return *this;
}

Builder& Builder::note(std::string message, SourceRange range) {
  diagnostic.notes.push_back({shortened(std::move(message)), range});
  return *this;
}

Builder& Builder::help(std::string message) {
  diagnostic.helps.push_back(shortened(std::move(message)));
  return *this;
}

Builder& Builder::propose(Proposal proposal) {
  diagnostic.proposals.push_back(std::move(proposal));
  return *this;
}

Builder& Builder::otherwise(std::string message) {
  diagnostic.otherwise = shortened(std::move(message));
  return *this;
}

Builder& Builder::fixIt(SourceRange range, std::string replacement,
                        Applicability applicability) {
  if (!range.isValid())
    return *this;
  std::optional<size_t> help;
  if (!diagnostic.helps.empty())
    help = diagnostic.helps.size() - 1;
  diagnostic.fixIts.push_back(
      {range, std::move(replacement), applicability, help});
  return *this;
}

bool Builder::suggest(SourceRange range, std::string_view name,
                      const std::vector<std::string>& candidates,
                      std::string_view quote) {
  if (comparisons && candidates.size() > *comparisons)
    return false;
  if (comparisons)
    *comparisons -= candidates.size();
  std::vector<std::string> near = nearNames(name, candidates);
  if (near.empty())
    return false;
  if (near.size() > 1) {
    std::string list;
    for (size_t i = 0; i < near.size(); ++i)
      list += (i == 0                 ? "`"
               : i + 1 == near.size() ? " or `"
                                      : ", `") +
              std::string(quote) + near[i] + std::string(quote) + "`";
    help("did you mean " + list + "?");
    return true;
  }
  bool isSure = isSurelyMeant(name, near[0], candidates);
  std::string text = std::string(quote) + near[0] + std::string(quote);
  help("did you mean `" + text + "`?");
  fixIt(range, std::move(text),
        isSure ? Applicability::safe : Applicability::maybe);
  return true;
}

void Builder::suggestOrList(SourceRange range, std::string_view name,
                            const std::vector<std::string>& candidates,
                            std::string_view intro, std::string_view quote) {
  constexpr size_t most = 16;
  if (!suggest(range, name, candidates, quote) && !candidates.empty())
    help(std::string(intro) + quotedList(candidates, most));
}

std::string quotedList(const std::vector<std::string>& names, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", `" : "`") + names[i] + "`";
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

Builder Engine::report(Kind kind, SourceRange range, std::string message) {
  if (kindSeverity(kind) == Severity::error)
    ++errorCount;
  if (isFull())
    dropped = {};
  Diagnostic& diagnostic = isFull() ? dropped : diagnostics.emplace_back();
  diagnostic.kind = kind;
  diagnostic.range = range;
  diagnostic.message = shortened(std::move(message));
  return Builder(diagnostic, &comparisons);
}

std::string causeOf(Kind kind, const std::string& message) {
  bool isAboutValue = kind == Kind::WrongType || kind == Kind::WrongUnit ||
                      kind == Kind::InvalidValue || kind == Kind::Recursion;
  size_t begin = message.find('`');
  size_t end = message.find('`', begin + 1);
  if (!isAboutValue || end == std::string::npos)
    return message;
  return message.substr(0, begin) + message.substr(end);
}

void Engine::remove(Kind warning) {
  assert(kindSeverity(warning) == Severity::warning);
  std::erase_if(diagnostics,
                [&](const Diagnostic& each) { return each.kind == warning; });
}

void Engine::append(const Engine& other, const std::string& subject) {
  for (const Diagnostic& diagnostic : other.diagnostics) {
    if (isFull())
      break;
    Diagnostic& added = diagnostics.emplace_back(diagnostic);
    if (!subject.empty())
      added.subjects = {subject};
  }
  errorCount += other.errorCount;
}

void Engine::sortByPlace() {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return placeOf(a) < placeOf(b);
                   });
}

/// A name that is missing is missing everywhere: the other uses of it become
/// labels of the first one, which is corrected together with them.
static bool mergeUses(Diagnostic& first, Diagnostic& next) {
  constexpr size_t mostLabels = 8;
  const bool isSame =
      first.kind == Kind::UnknownName && next.kind == Kind::UnknownName &&
      first.range.source == next.range.source &&
      first.message == next.message && first.helps == next.helps &&
      first.proposals.empty() && next.proposals.empty();
  if (!isSame)
    return false;
  if (first.labels.size() < mostLabels)
    first.labels.push_back({next.range, ""});
  first.fixIts.insert(first.fixIts.end(), next.fixIts.begin(),
                      next.fixIts.end());
  addSubjects(first, next);
  return true;
}

void Engine::arrange() {
  sortByPlace();
  std::vector<Diagnostic> kept;
  kept.reserve(diagnostics.size());
  // Index in `kept` of the diagnostics at the current place.
  std::map<Cause, size_t> known;
  std::map<std::string, size_t> uses; // of unknown names, by their message
  std::optional<decltype(placeOf(diagnostics.front()))> last;
  for (Diagnostic& diagnostic : diagnostics) {
    if (last && *last != placeOf(diagnostic))
      known.clear();
    last = placeOf(diagnostic);
    auto [same, isNew] = known.emplace(fullCauseOf(diagnostic), kept.size());
    if (isNew) {
      auto use = diagnostic.kind == Kind::UnknownName
                     ? uses.try_emplace(diagnostic.message, kept.size())
                     : std::pair(uses.end(), true);
      if (!use.second && mergeUses(kept[use.first->second], diagnostic)) {
        same->second = use.first->second;
        --errorCount;
        continue;
      }
      kept.push_back(std::move(diagnostic));
      continue;
    }
    addSubjects(kept[same->second], diagnostic);
    if (kindSeverity(diagnostic.kind) == Severity::error)
      --errorCount;
  }
  diagnostics = std::move(kept);
}

} // namespace recipec::diag
