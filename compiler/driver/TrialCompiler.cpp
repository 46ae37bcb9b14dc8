// Compiles a session's input with a change; see TrialCompiler.h.
//
// 1. Apply the edits to copies of the files and arguments.
// 2. Compile them with the further settings, up to the limits.
// 3. Map the places of the errors back to the session's sources.

#include "compiler/driver/TrialCompiler.h"

#include "compiler/driver/Fixes.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/passes/distributed/Connect.h"
#include "compiler/passes/inference/CacheSize.h"
#include "compiler/recipe/Task.h"

#include <algorithm>
#include <map>

namespace recipec::driver {
namespace {

using diag::Diagnostic;
using diag::FixIt;

/// Limits on the trials and on the ops of all their models. A model with more
/// than `mostOpsCompiled` ops compiles only to its Graph.
constexpr int mostTrials = 48;
constexpr size_t mostOps = 80'000;
constexpr size_t mostOpsCompiled = 3'000;
/// The recipe bytes that all trials read.
constexpr size_t mostBytes = size_t(2) << 20;
/// The number of recipes that are evaluated in a file with syntax errors.
constexpr size_t mostRecipes = 4;

Messages messagesOf(const std::vector<Diagnostic>& diagnostics) {
  Messages messages;
  for (const Diagnostic& each : diagnostics)
    ++messages[{each.kind, each.message}];
  return messages;
}

} // namespace

int countOf(const Messages& messages, const Diagnostic& diagnostic) {
  auto found = messages.find({diagnostic.kind, diagnostic.message});
  return found == messages.end() ? 0 : found->second;
}

SourceId TrialCompiler::sourceOfFile() const {
  return session.file ? session.file->source : SourceId::none;
}

/// Applies the edits to the files and arguments of a trial session.
void TrialCompiler::edit(const Change& change, Session& trial,
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
void TrialCompiler::rename(const Session& trial, const Texts& texts,
                           Findings& findings) const {
  // Long texts are compared once, not for each of many diagnostics.
  std::map<SourceId, SourceId> known; // sources of the trial, in the session
  auto find = [&](SourceId trialSource) {
    for (const auto& [source, text] : texts)
      if (trial.sources.name(trialSource) == session.sources.name(source) &&
          trial.sources.text(trialSource) == text)
        return source;
    return SourceId::none;
  };
  auto toSession = [&](SourceRange& range) {
    if (!range.isValid())
      return;
    auto [found, isNew] = known.try_emplace(range.source, SourceId::none);
    if (isNew)
      found->second = find(range.source);
    if (found->second == SourceId::none)
      range = {};
    else
      range.source = found->second;
  };
  for (Diagnostic& each : findings.diagnostics) {
    const SourceRange before = each.range;
    toSession(each.range);
    if (!each.range.isValid())
      each.range = before;
    for (FixIt& fixIt : each.fixIts)
      toSession(fixIt.range);
  }
}

std::optional<Findings> TrialCompiler::compile(const Change& change,
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

void TrialCompiler::compileOpened(Session& trial,
                                  const sema::Selection* subject,
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

void TrialCompiler::compileSelected(Session& trial,
                                    const std::vector<std::string>& settings) {
  diag::Engine& engine = trial.engine;
  sema::Changes changes;
  for (const std::string& text : settings)
    if (!trial.addOverride(changes.overrides, text, "a change that was tried"))
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
       passes::measureCache(*stages, *recipe).holdsSequence());
  if (!fits)
    engine.report(diag::Kind::OutOfMemory, {}, "it takes too much");
}

} // namespace recipec::driver
