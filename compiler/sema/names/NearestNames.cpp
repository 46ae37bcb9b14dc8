// Searches the summaries of the functions and the comments of ops and schemas.

#include "compiler/sema/names/NearestNames.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/builtins/Builtins.h"
#include "compiler/sema/values/Comments.h"

#include <cctype>
#include <vector>

namespace recipec::sema {
namespace {

/// All are of one place.
constexpr const char* placeOfCalls = "call";

/// What may be called, as a document and as the help names it.
struct Callables {
  std::vector<search::Document> documents;
  std::vector<std::string> texts;

  void add(std::string_view name, const std::string& form,
           const std::string& description, const std::string& summary,
           std::vector<std::string> otherNames = {}) {
    documents.push_back(
        {std::string(name), std::move(otherNames), description, placeOfCalls});
    std::string text = "`" + form + "`" + (summary.empty() ? "" : ": ");
    const size_t at = text.size();
    text += summary;
    if (summary.size() > 1 &&
        std::islower(static_cast<unsigned char>(summary[1])))
      text[at] = char(std::tolower(static_cast<unsigned char>(text[at])));
    texts.push_back(std::move(text));
  }

  void add(const std::string& name, const ast::Comments& comments) {
    std::vector<std::string> others;
    for (ListedName& each : namesListedIn(comments))
      others.push_back(std::move(each.name));
    add(name, name, descriptionOf(comments), summaryOf(comments),
        std::move(others));
  }
};

void addFunctions(Callables& callables) {
  for (const BuiltinFunction& function : builtinFunctions()) {
    std::string summary(function.summary);
    if (summary.ends_with('.'))
      summary.pop_back();
    callables.add(function.name, formOf(function),
                  std::string(function.summary),
                  summary.substr(0, summary.find(". ")));
  }
}

void addOps(Evaluator& evaluator, Callables& callables) {
  if (!evaluator.modules.ops())
    return;
  for (const auto& [name, entry] : evaluator.modules.ops()->entries)
    if (auto* op = std::get_if<ast::BlockDecl>(&entry.declaration->node))
      callables.add(op->name.text, entry.declaration->comments);
}

void addSchemas(Evaluator& evaluator, Callables& callables) {
  Module* const prelude = evaluator.modules.prelude();
  if (!prelude)
    return;
  for (auto& [name, entry] : prelude->entries) {
    const Value& value = evaluator.modules.entryValue(*prelude, entry);
    const Schema* const* schema = value.get<const Schema*>();
    if (!schema)
      continue;
    for (const ast::Declaration& declaration : (*schema)->file->declarations)
      if (auto* own = std::get_if<ast::SchemaDecl>(&declaration.node);
          own && own->name.text == (*schema)->name)
        callables.add(std::string(name), declaration.comments);
  }
}

} // namespace

bool helpWithNearestName(Evaluator& evaluator, diag::Builder& builder,
                         const std::string& name, bool isInBlock) {
  Callables callables;
  addFunctions(callables);
  addSchemas(evaluator, callables);
  if (isInBlock)
    addOps(evaluator, callables);
  const std::vector<std::string> texts = std::move(callables.texts);
  const search::WordIndex index(std::move(callables.documents));
  const auto found = index.find(name, placeOfCalls, search::leastOfOptions);
  if (found.empty())
    return false;
  const bool isOne = found.size() == 1;
  std::string help = isOne ? "the nearest by its description is "
                           : "the nearest by their descriptions are ";
  for (const search::Match& each : found)
    help += (&each == &found.front() ? "" : "; and ") + texts[each.document];
  builder.help(help);
  return true;
}

} // namespace recipec::sema
