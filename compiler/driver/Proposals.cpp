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
// 4. The first proposals of a diagnostic with a working alternative become its
//    helps.
//
// A trial compiles to the Graph, where most rules are checked; small models
// compile to the Program. The number of trials and the ops of their models are
// limited, which bounds the time. Beyond the limit nothing is proposed.

#include "compiler/driver/Proposals.h"

#include "compiler/driver/Fixes.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/passes/distributed/Connect.h"
#include "compiler/recipe/Task.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace recipec::driver {
namespace {

using diag::Diagnostic;
using diag::FixIt;

/// Limits on the trials and on the ops of all their models. A model with more
/// than `mostOpsCompiled` ops compiles only to its Graph.
constexpr int mostTrials = 48;
constexpr size_t mostOps = 40'000;
constexpr size_t mostOpsCompiled = 1'000;
/// The number of diagnostics whose proposals are tried; no more are printed.
/// `mostBytes` limits the recipe bytes that all trials read.
constexpr size_t mostDiagnostics = 50;
constexpr size_t mostBytes = size_t(2) << 20;
/// The proposals of a condition that become helps, because more than one value
/// can change.
constexpr size_t mostHelps = 2;
/// The number of recipes that are evaluated in a file with syntax errors.
constexpr size_t mostRecipes = 4;

/// A change to the input of a session.
struct Change {
  std::vector<const FixIt*> edits;
  std::vector<std::string> settings;
};

using Messages = std::map<std::pair<diag::Kind, std::string>, int>;

/// The errors of a trial, and the positions of its edits in its texts.
struct Findings {
  std::vector<Diagnostic> diagnostics;
  Messages messages;
  std::map<const FixIt*, SourceRange> places;
};

Messages messagesOf(const std::vector<Diagnostic>& diagnostics) {
  Messages messages;
  for (const Diagnostic& each : diagnostics)
    ++messages[{each.kind, each.message}];
  return messages;
}

int countOf(const Messages& messages, const Diagnostic& diagnostic) {
  auto found = messages.find({diagnostic.kind, diagnostic.message});
  return found == messages.end() ? 0 : found->second;
}

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
std::string joined(std::vector<std::string> texts) {
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
  explicit Trials(Session& session) : session(session) {}

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

  // ---- one trial

  SourceId sourceOfFile() const {
    return session.file ? session.file->source : SourceId::none;
  }

  /// The recipe or point that a diagnostic is about; nullptr for the files
  /// only.
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

  /// The edited texts, by their source in the session.
  using Texts = std::vector<std::pair<SourceId, std::string>>;

  /// Applies the edits to the files and arguments of a trial session.
  void edit(const Change& change, Session& trial,
            std::vector<std::string>& sets, Texts& texts,
            Findings& findings) const {
    std::map<SourceId, std::vector<const FixIt*>> bySource;
    for (const FixIt* fixIt : change.edits)
      bySource[fixIt->range.source].push_back(fixIt);
    for (auto& [source, fixIts] : bySource) {
      std::string_view before = session.sources.text(source);
      EditedText after = edited(before, fixIts);
      for (const auto& [fixIt, place] : after.made)
        findings.places[fixIt] = place;
      if (session.sources.kind(source) == SourceKind::commandLine)
        std::replace(sets.begin(), sets.end(), std::string(before), after.text);
      else
        trial.loader.replaceText(std::string(session.sources.name(source)),
                                 after.text);
      texts.emplace_back(source, std::move(after.text));
    }
  }

  /// Maps diagnostics in edited texts to the sources of the session, like
  /// `places`.
  void rename(const Session& trial, const Texts& texts,
              Findings& findings) const {
    for (Diagnostic& each : findings.diagnostics)
      for (const auto& [source, text] : texts)
        if (each.range.isValid() &&
            trial.sources.name(each.range.source) ==
                session.sources.name(source) &&
            trial.sources.text(each.range.source) == text)
          each.range.source = source;
  }

  /// Returns nullopt when the limits are reached.
  std::optional<Findings> compileUnder(const Change& change,
                                       const sema::Selection* subject) {
    if (trials >= mostTrials || ops >= mostOps || bytes >= mostBytes)
      return std::nullopt;
    ++trials;
    if (session.file)
      bytes += session.sources.text(session.file->source).size();
    for (const FixIt* fixIt : change.edits)
      if (fixIt->range.source != sourceOfFile())
        bytes += session.sources.text(fixIt->range.source).size();
    Findings findings;
    Session trial(session.target);
    trial.loader.adopt(session.loader);
    std::vector<std::string> sets = session.sets;
    Texts texts;
    edit(change, trial, sets, texts, findings);
    if (trial.open(sets))
      compileOpened(trial, subject, change.settings);
    trial.engine.arrange();
    findings.diagnostics = trial.engine.all();
    findings.messages = messagesOf(findings.diagnostics);
    rename(trial, texts, findings);
    return findings;
  }

  void compileOpened(Session& trial, const sema::Selection* subject,
                     const std::vector<std::string>& settings) {
    if (session.hasCheckedDeclarations)
      trial.checkDeclarations();
    if (subject && sema::findRecipe(*trial.file, subject->recipe)) {
      trial.selected = *subject;
      compileSelected(trial, settings);
    }
    if (subject)
      return;
    // A file with syntax errors has no recipes to select.
    size_t left = mostRecipes;
    for (const ast::RecipeDecl* each : sema::concreteRecipes(*trial.file)) {
      if (left-- == 0)
        return;
      trial.selected = {each->name.text, std::nullopt, each->name.text, false};
      evaluateRecipe(trial, trial.engine);
    }
  }

  void compileSelected(Session& trial,
                       const std::vector<std::string>& settings) {
    diag::Engine& engine = trial.engine;
    sema::Changes changes;
    for (const std::string& text : settings)
      if (!trial.addOverride(changes.overrides, text,
                             "a change that was tried"))
        return;
    auto recipe = evaluateRecipe(trial, engine, changes);
    if (!recipe)
      return;
    size_t size = recipe->model.calls.size();
    ops += size;
    auto graph = makeGraph(*recipe, engine);
    if (!graph || size > mostOpsCompiled)
      return;
    ops += 8 * size; // about eight times slower
    auto stages =
        makeProgram(std::move(*graph), *recipe, engine, Verification::none);
    if (!stages)
      return;
    const bool fits =
        cost::estimate(*stages, passes::connect(*stages, *recipe), *recipe)
            .memory.fits() &&
        (!recipe::serves(*recipe) ||
         passes::measureCache(stages->front(), *recipe).holdsSequence());
    if (!fits)
      engine.report(diag::Kind::OutOfMemory, {}, "it takes too much");
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

  /// `True` became `true`, but a string is required: that error has its own
  /// help.
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
    for (const Correction& each : all) {
      const sema::Selection* subject =
          subjectOf(diagnostics()[each.diagnostic]);
      auto [found, isNew] = findings.try_emplace(subject);
      if (isNew)
        found->second = compileUnder(together, subject);
      const Messages& known = knownOf(subject);
      if (found->second && hasHelped(each, *found->second, known))
        continue;
      auto alone = all.size() > 1 ? compileUnder({each.edits, {}}, subject)
                                  : std::nullopt;
      if (!alone || !hasHelped(each, *alone, known))
        failed.push_back(each);
    }
    // From the last to the first, so that earlier indices stay valid.
    for (size_t i = failed.size(); i > 0; --i)
      drop(failed[i - 1]);
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

  bool holds(const diag::WayOut& way, const Diagnostic& cause,
             const sema::Selection* subject, const Messages& known) {
    Change change{{}, way.settings};
    for (const FixIt& edit : way.edits)
      change.edits.push_back(&edit);
    auto findings = compileUnder(change, subject);
    if (!findings)
      return false;
    const Messages& found = findings->messages;
    if (countOf(found, cause) >= countOf(known, cause))
      return false;
    return std::all_of(found.begin(), found.end(), [&](const auto& message) {
      auto before = known.find(message.first);
      return before != known.end() && before->second >= message.second;
    });
  }

  void tryProposalsOf(Diagnostic& diagnostic) {
    if (diagnostic.proposals.empty())
      return;
    std::vector<diag::Proposal> proposals =
        std::exchange(diagnostic.proposals, {});
    const sema::Selection* subject = subjectOf(diagnostic);
    if (!subject)
      return;
    const Messages& known = knownOf(subject);
    size_t helps = 0;
    for (const diag::Proposal& proposal : proposals) {
      std::vector<std::string> texts;
      for (const diag::WayOut& way : proposal.ways)
        if (texts.size() < proposal.most &&
            holds(way, diagnostic, subject, known))
          texts.push_back(way.text);
      if (texts.empty())
        continue;
      diagnostic.helps.push_back(proposal.before + joined(std::move(texts)) +
                                 proposal.after);
      if (diagnostic.kind != diag::Kind::RequireFailed || ++helps == mostHelps)
        return;
    }
  }

  Session& session;
  std::map<const sema::Selection*, Messages> known;
  int trials = 0;
  size_t ops = 0;
  size_t bytes = 0;
};

} // namespace

void tryProposals(Session& session) {
  Trials(session).run();
}

} // namespace recipec::driver
