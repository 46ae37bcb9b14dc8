// Tries the changes that diagnostics propose; see Proposals.h.
//
// 1. Apply all fix-its at once and compile. A fix-it works if its diagnostic is
//    gone and the replaced text has no new error. Errors after it that it
//    uncovers do not count.
// 2. Try each fix-it that did not work separately. If it still does not work,
//    drop it and its help.
// 3. Compile with the settings of each alternative of a proposal. An
//    alternative works if there is no new error and the program fits into
//    memory.
// 4. Turn the first proposals with a working alternative into helps. If no
//    alternative fits into memory, say so in the help.
// 5. If a change works but leads to another error that proposes its own change,
//    propose both together: `task: sft` becomes `task = "sft"`, and `pp` = 1
//    may need another `micro`.
//
// A trial compiles to the Graph, where most rules are checked; small models
// compile to the Program. The number of trials and the ops of their models are
// limited, which bounds the time. Beyond the limit nothing is proposed.

#include "compiler/driver/Proposals.h"

#include "compiler/driver/Fixes.h"
#include "compiler/driver/TrialCompiler.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace recipec::driver {
namespace {

using diag::Diagnostic;
using diag::FixIt;

/// The number of diagnostics whose proposals are tried; no more are printed.
constexpr size_t mostDiagnostics = 50;
/// The maximum number of helps for a failed condition. More than one can help,
/// because several values can change.
constexpr size_t mostHelps = 2;

/// Whether a diagnostic rejects the text at its place, as opposed to a
/// combination of values.
bool isAboutText(diag::Kind kind) {
  switch (kind) {
  case diag::Kind::RequireFailed:
  case diag::Kind::InvalidValue:
  case diag::Kind::NotSupported:
  case diag::Kind::Indivisible:
  case diag::Kind::UnfitForFp8:
  case diag::Kind::ShapeMismatch:
  case diag::Kind::OutOfMemory:
  case diag::Kind::MissingField:
  case diag::Kind::DuplicateName:
    return false;
  default:
    return true;
  }
}

bool isNumber(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

/// `` `a`, `b` or `c` ``. Numbers are sorted and have no backticks.
std::string alternatives(std::vector<std::string> texts) {
  if (std::all_of(texts.begin(), texts.end(), isNumber))
    std::sort(texts.begin(), texts.end(),
              [](const std::string& a, const std::string& b) {
                return std::pair(a.size(), a) < std::pair(b.size(), b);
              });
  std::string text;
  for (size_t i = 0; i < texts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ") + texts[i];
  return text;
}

class Trials {
public:
  explicit Trials(Session& session) : session(session), trials(session) {}

  void run() {
    for (size_t i = mostDiagnostics; i < diagnostics().size(); ++i) {
      session.engine.edit(i).fixIts.clear();
      session.engine.edit(i).proposals.clear();
    }
    tryFixIts();
    for (size_t i = 0; i < std::min(mostDiagnostics, diagnostics().size()); ++i)
      tryProposalsOf(session.engine.edit(i));
    for (size_t i = 0; i < diagnostics().size(); ++i)
      if (Diagnostic& each = session.engine.edit(i);
          each.helps.empty() && !each.otherwise.empty())
        each.helps.push_back(std::exchange(each.otherwise, {}));
  }

private:
  const std::vector<Diagnostic>& diagnostics() const {
    return session.engine.all();
  }

  /// The recipe or point of a diagnostic; nullptr if it is only about the
  /// files.
  const sema::Selection* subjectOf(const Diagnostic& diagnostic) const {
    for (const sema::Selection& each : session.selection)
      if (!diagnostic.subjects.empty() &&
          each.name == diagnostic.subjects.front())
        return &each;
    if (!session.selected.recipe.empty())
      return &session.selected;
    return session.selection.empty() ? nullptr : &session.selection.front();
  }

  /// The known errors of the files and the subject.
  const Messages& knownOf(const sema::Selection* subject) {
    auto [entry, isNew] = known.try_emplace(subject);
    if (!isNew)
      return entry->second;
    for (const Diagnostic& each : diagnostics())
      if (each.subjects.empty() || !subject ||
          std::count(each.subjects.begin(), each.subjects.end(), subject->name))
        ++entry->second[{each.kind, each.message}];
    return entry->second;
  }

  // ---- fix-its

  /// The fix-its with the same help.
  struct Correction {
    size_t diagnostic;
    std::optional<size_t> help;
    std::vector<const FixIt*> edits;
  };

  std::vector<Correction> corrections() const {
    std::vector<Correction> all;
    for (size_t i = 0; i < diagnostics().size(); ++i)
      for (const FixIt& fixIt : diagnostics()[i].fixIts) {
        bool goesOn = !all.empty() && all.back().diagnostic == i &&
                      all.back().help == fixIt.help;
        if (!goesOn)
          all.push_back({i, fixIt.help, {}});
        all.back().edits.push_back(&fixIt);
      }
    return all;
  }

  bool hasHelped(const Correction& correction, const Findings& findings,
                 const Messages& known) const {
    const Diagnostic& cause = diagnostics()[correction.diagnostic];
    const Messages& found = findings.messages;
    if (countOf(found, cause) >= countOf(known, cause))
      return false;
    for (const FixIt* edit : correction.edits) {
      auto place = findings.places.find(edit);
      if (place == findings.places.end()) // an overlapping edit was applied
        return false;
      for (const Diagnostic& each : findings.diagnostics)
        if (isAboutText(each.kind) && touches(each.range, place->second) &&
            countOf(found, each) > countOf(known, each) && !leadsOn(each))
          return false;
    }
    return true;
  }

  /// Whether a new error has a help of its own: `True` became `true`, but a
  /// string is required.
  static bool leadsOn(const Diagnostic& diagnostic) {
    return !diagnostic.helps.empty() || !diagnostic.proposals.empty();
  }

  static bool touches(SourceRange range, SourceRange place) {
    return range.source == place.source && range.begin < place.end &&
           place.begin < std::max(range.end, range.begin + 1);
  }

  void tryFixIts() {
    std::vector<Correction> all = corrections();
    Change together;
    for (const Correction& each : all)
      together.edits.insert(together.edits.end(), each.edits.begin(),
                            each.edits.end());
    std::map<const sema::Selection*, std::optional<Findings>> findings;
    std::vector<Correction> failed;
    std::vector<Continued> continued;
    for (const Correction& each : all) {
      const sema::Selection* subject =
          subjectOf(diagnostics()[each.diagnostic]);
      auto [found, isNew] = findings.try_emplace(subject);
      if (isNew)
        found->second = trials.compile(together, subject);
      const Messages& known = knownOf(subject);
      if (found->second && hasHelped(each, *found->second, known)) {
        if (auto further = continuedBy(each, *found->second, subject, known))
          continued.push_back(std::move(*further));
        continue;
      }
      auto alone = all.size() > 1 ? trials.compile({each.edits, {}}, subject)
                                  : std::nullopt;
      if (!alone || !hasHelped(each, *alone, known))
        failed.push_back(each);
    }
    for (Continued& each : continued)
      carryOn(each);
    // From the last to the first, so that earlier indices stay valid.
    for (size_t i = failed.size(); i > 0; --i)
      drop(failed[i - 1]);
  }

  /// A correction, with the edits for the error that it leads to.
  struct Continued {
    size_t diagnostic;
    size_t help;
    std::string text; // of the help
    std::vector<FixIt> edits;
  };

  static bool isPlaceOf(const Findings& findings, const FixIt* edit,
                        SourceRange range) {
    auto found = findings.places.find(edit);
    return found != findings.places.end() && found->second == range;
  }

  bool isOnLineOf(const Correction& correction, SourceRange range) const {
    auto lineOf = [&](SourceRange at) {
      return session.sources.lineColumn(at.source, at.begin).line;
    };
    return std::any_of(correction.edits.begin(), correction.edits.end(),
                       [&](const FixIt* edit) {
                         return edit->range.source == range.source &&
                                lineOf(edit->range) == lineOf(range);
                       });
  }

  /// Whether an edit by itself removes its error and adds no error about a
  /// text.
  bool holdsAlone(const FixIt& edit, const Diagnostic& cause,
                  const sema::Selection* subject, const Messages& known) {
    auto result = trials.compile({{&edit}, {}}, subject);
    return result && countOf(result->messages, cause) < countOf(known, cause) &&
           std::none_of(result->diagnostics.begin(), result->diagnostics.end(),
                        [&](const Diagnostic& each) {
                          return countOf(result->messages, each) >
                                     countOf(known, each) &&
                                 isAboutText(each.kind);
                        });
  }

  /// The text of an edit after fixing several new errors inside it, each in a
  /// part of the text: `["q", "v"]` for `["q_proj", "v_proj"]`.
  static std::optional<std::string> mendedWithin(const Correction& correction,
                                                 const Findings& findings,
                                                 const Messages& known) {
    if (correction.edits.size() != 1)
      return std::nullopt;
    const auto found = findings.places.find(correction.edits[0]);
    if (found == findings.places.end())
      return std::nullopt;
    const SourceRange whole = found->second;
    std::vector<const FixIt*> parts;
    for (const Diagnostic& each : findings.diagnostics) {
      if (countOf(findings.messages, each) <= countOf(known, each) ||
          !touches(each.range, whole))
        continue;
      const bool isPart = each.fixIts.size() == 1 &&
                          each.fixIts[0].range.source == whole.source &&
                          each.fixIts[0].range.begin > whole.begin &&
                          each.fixIts[0].range.end < whole.end;
      if (!isPart)
        return std::nullopt;
      parts.push_back(&each.fixIts[0]);
    }
    if (parts.empty())
      return std::nullopt;
    std::sort(parts.begin(), parts.end(), [](const FixIt* a, const FixIt* b) {
      return a->range.begin > b->range.begin;
    });
    std::string text = correction.edits[0]->replacement;
    for (const FixIt* part : parts)
      text.replace(part->range.begin - whole.begin,
                   part->range.end - part->range.begin, part->replacement);
    return text;
  }

  /// Combines a correction with that of the only new error on its lines.
  /// Returns nullopt if there is no such error, or if the combination leaves an
  /// error.
  std::optional<Continued> continuedBy(const Correction& correction,
                                       const Findings& findings,
                                       const sema::Selection* subject,
                                       const Messages& known) {
    const Diagnostic& cause = diagnostics()[correction.diagnostic];
    if (!correction.help)
      return std::nullopt;
    if (auto mended = mendedWithin(correction, findings, known)) {
      Continued further{correction.diagnostic, *correction.help, {}, {}};
      const FixIt& first = *correction.edits[0];
      further.text = replacedOnce(cause.helps[*correction.help],
                                  first.replacement, *mended);
      further.edits.push_back(
          {first.range, *mended, first.applicability, correction.help});
      const bool isDone = !further.text.empty() &&
                          holdsAlone(further.edits[0], cause, subject, known);
      return isDone ? std::optional(std::move(further)) : std::nullopt;
    }
    const Diagnostic* next = nullptr;
    SourceRange place;
    for (const Diagnostic& each : findings.diagnostics) {
      const bool isNew =
          countOf(findings.messages, each) > countOf(known, each);
      // An error whose fix replaces the whole inserted text.
      if (isNew && correction.edits.size() == 1 && each.fixIts.size() == 1 &&
          isPlaceOf(findings, correction.edits[0], each.fixIts[0].range)) {
        if (next)
          return std::nullopt;
        next = &each;
        place = correction.edits[0]->range;
        continue;
      }
      auto before =
          isNew && each.fixIts.size() == 1 && each.fixIts[0].range.isValid()
              ? beforeEdits(findings.places, each.fixIts[0].range)
              : std::nullopt;
      if (!before || !isOnLineOf(correction, *before))
        continue;
      if (next)
        return std::nullopt;
      next = &each;
      place = *before;
    }
    if (!next)
      return std::nullopt;
    const std::string& replacement = next->fixIts[0].replacement;
    Continued further{correction.diagnostic, *correction.help, {}, {}};
    // A second correction of the whole text replaces the first.
    const FixIt* first = correction.edits[0];
    const bool isReplaced =
        correction.edits.size() == 1 && first->range == place;
    further.text =
        replacedOnce(cause.helps[*correction.help],
                     isReplaced ? first->replacement
                                : std::string(session.sources.text(place)),
                     replacement);
    if (further.text.empty())
      return std::nullopt;
    further.edits.push_back(
        {place, replacement, next->fixIts[0].applicability, correction.help});
    Change both{isReplaced ? std::vector<const FixIt*>() : correction.edits,
                {}};
    both.edits.push_back(&further.edits[0]);
    auto result = trials.compile(both, subject);
    const bool isDone =
        result && countOf(result->messages, cause) < countOf(known, cause) &&
        std::none_of(result->diagnostics.begin(), result->diagnostics.end(),
                     [&](const Diagnostic& each) {
                       return countOf(result->messages, each) >
                                  countOf(known, each) &&
                              isAboutText(each.kind);
                     });
    return isDone ? std::optional(std::move(further)) : std::nullopt;
  }

  void carryOn(Continued& further) {
    Diagnostic& diagnostic = session.engine.edit(further.diagnostic);
    diagnostic.helps[further.help] = std::move(further.text);
    std::erase_if(diagnostic.fixIts, [&](const FixIt& each) {
      return each.help == further.help && each.range == further.edits[0].range;
    });
    auto last = std::find_if(
        diagnostic.fixIts.rbegin(), diagnostic.fixIts.rend(),
        [&](const FixIt& each) { return each.help == further.help; });
    diagnostic.fixIts.insert(last.base(), further.edits.begin(),
                             further.edits.end());
  }

  void drop(const Correction& correction) {
    Diagnostic& diagnostic = session.engine.edit(correction.diagnostic);
    std::erase_if(diagnostic.fixIts, [&](const FixIt& fixIt) {
      return fixIt.help == correction.help;
    });
    if (!correction.help)
      return;
    auto& helps = diagnostic.helps;
    helps.erase(helps.begin() + std::ptrdiff_t(*correction.help));
    for (FixIt& fixIt : diagnostic.fixIts)
      if (fixIt.help && *fixIt.help > *correction.help)
        --*fixIt.help;
  }

  // ---- settings

  /// An alternative that removes its error but leads to other errors.
  struct NearMiss {
    std::string help;
    const diag::Proposal* proposal;
    const diag::WayOut* way;
    std::vector<Diagnostic> errors;
  };

  /// Whether a new error is reported by a later phase, which an edit elsewhere
  /// has made reachable.
  static bool isUncovered(const Diagnostic& diagnostic, const diag::WayOut& way,
                          const Findings& findings) {
    const bool isLater = diagnostic.kind == diag::Kind::ShapeMismatch ||
                         diagnostic.kind == diag::Kind::MissingField;
    return isLater && way.settings.empty() &&
           std::none_of(findings.places.begin(), findings.places.end(),
                        [&](const auto& place) {
                          return touches(diagnostic.range, place.second);
                        });
  }

  /// Whether an alternative leaves no new error. If it removes its error but
  /// leaves others, these are added to `others`.
  bool holds(const diag::WayOut& way, const std::vector<std::string>& further,
             const Diagnostic& cause, const sema::Selection* subject,
             const Messages& known, std::vector<Diagnostic>* others) {
    Change change{{}, way.settings};
    change.settings.insert(change.settings.end(), further.begin(),
                           further.end());
    for (const FixIt& edit : way.edits)
      change.edits.push_back(&edit);
    auto findings = trials.compile(change, subject);
    if (!findings)
      return false;
    const Messages& found = findings->messages;
    if (countOf(found, cause) >= countOf(known, cause))
      return false;
    bool isClean = true;
    for (Diagnostic& each : findings->diagnostics) {
      if (countOf(found, each) <= countOf(known, each) ||
          isUncovered(each, way, *findings))
        continue;
      isClean = false;
      if (others)
        others->push_back(std::move(each));
    }
    return isClean;
  }

  /// Whether the later alternative sets every path that the earlier one sets.
  static bool setsSame(const diag::WayOut& earlier, const diag::WayOut& later) {
    auto pathOf = [](const std::string& setting) {
      return setting.substr(0, setting.find('='));
    };
    return std::all_of(earlier.settings.begin(), earlier.settings.end(),
                       [&](const std::string& set) {
                         return std::any_of(
                             later.settings.begin(), later.settings.end(),
                             [&](const std::string& each) {
                               return pathOf(each) == pathOf(set);
                             });
                       });
  }

  /// Tries the alternatives of the only error that a near miss leads to.
  bool tryTogether(Diagnostic& diagnostic, const NearMiss& miss,
                   const sema::Selection* subject, const Messages& known) {
    constexpr size_t mostWays = 2;
    if (miss.errors.size() != 1)
      return false;
    for (const diag::Proposal& proposal : miss.errors.front().proposals) {
      size_t tried = 0;
      for (const diag::WayOut& way : proposal.ways) {
        if (!way.edits.empty() || tried++ == mostWays)
          break;
        if (!holds(*miss.way, way.settings, diagnostic, subject, known,
                   nullptr))
          continue;
        const std::string last = proposal.before + way.text + proposal.after;
        const bool isSame = setsSame(*miss.way, way);
        diagnostic.helps.push_back(isSame ? last : miss.help + " and " + last);
        return true;
      }
    }
    return false;
  }

  void tryProposalsOf(Diagnostic& diagnostic) {
    if (diagnostic.proposals.empty())
      return;
    std::vector<diag::Proposal> proposals =
        std::exchange(diagnostic.proposals, {});
    const sema::Selection* subject = subjectOf(diagnostic);
    const Messages& known = knownOf(subject);
    size_t helps = 0;
    std::vector<NearMiss> misses;
    for (const diag::Proposal& proposal : proposals) {
      std::vector<std::string> texts;
      for (const diag::WayOut& way : proposal.ways) {
        if (texts.size() == proposal.most)
          break;
        // Without a recipe, only edits can be tried.
        if (!subject && !way.settings.empty())
          continue;
        NearMiss miss{
            proposal.before + way.text + proposal.after, &proposal, &way, {}};
        if (holds(way, {}, diagnostic, subject, known, &miss.errors))
          texts.push_back(way.text);
        else if (!miss.errors.empty())
          misses.push_back(std::move(miss));
      }
      if (texts.empty())
        continue;
      diagnostic.helps.push_back(
          proposal.before + alternatives(std::move(texts)) + proposal.after);
      if (diagnostic.kind != diag::Kind::RequireFailed || ++helps == mostHelps)
        return;
    }
    constexpr size_t mostMisses = 4;
    if (helps > 0 || !diagnostic.helps.empty())
      return;
    for (size_t i = 0; i < std::min(misses.size(), mostMisses); ++i)
      if (tryTogether(diagnostic, misses[i], subject, known))
        return;
    proposeTooLarge(diagnostic, misses);
  }

  /// If every alternative leaves an error, proposes those of one proposal that
  /// leave only an out-of-memory error.
  static void proposeTooLarge(Diagnostic& diagnostic,
                              const std::vector<NearMiss>& misses) {
    const diag::Proposal* first = nullptr;
    std::vector<std::string> texts;
    for (const NearMiss& miss : misses) {
      const bool isTooLarge = std::all_of(
          miss.errors.begin(), miss.errors.end(), [](const Diagnostic& each) {
            return each.kind == diag::Kind::OutOfMemory;
          });
      if (!isTooLarge || (first && first != miss.proposal) ||
          (first && texts.size() == first->most))
        continue;
      first = miss.proposal;
      texts.push_back(miss.way->text);
    }
    if (first)
      diagnostic.helps.push_back(first->before +
                                 alternatives(std::move(texts)) + first->after +
                                 ", which then does not fit into memory");
  }

  Session& session;
  TrialCompiler trials;
  std::map<const sema::Selection*, Messages> known;
};

} // namespace

void tryProposals(Session& session) {
  Trials(session).run();
}

} // namespace recipec::driver
