// Diagnostics: what the user did, where, and how to fix it.
//
// Every phase reports into an Engine; only the driver renders. A kind is one
// line in DiagnosticKinds.def (name, severity) and one paragraph in
// Explanations.cpp. A missing line or paragraph fails the build or a test.

#ifndef RECIPEC_DIAG_DIAGNOSTIC_H
#define RECIPEC_DIAG_DIAGNOSTIC_H

#include "compiler/base/Source.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::diag {

enum class Kind {
#define DIAGNOSTIC(Name, Severity) Name,
#include "compiler/diag/DiagnosticKinds.def"
};

enum class Severity { error, warning };

std::string_view kindName(Kind kind);
Severity kindSeverity(Kind kind);
/// Finds a kind by its name, which a rendered diagnostic prints in brackets.
std::optional<Kind> findKind(std::string_view name);
/// All kind names, in the order of DiagnosticKinds.def.
std::vector<std::string> kindNames();
/// The kinds that a guessed name may mean, `OutOfMemory` for `OOM`, in the
/// order of DiagnosticKinds.def.
std::vector<std::string> nearKinds(std::string_view name);
/// The long text that `recipec explain KIND` prints.
std::string_view explanation(Kind kind);

/// A secondary place and its text, for example the first of two declarations or
/// an operand. It is shown in the excerpt of the primary range.
struct Label {
  SourceRange range;
  std::string text; // may be empty
};

/// A remark below the message, for example the rule or the origin of an
/// operand.
struct Note {
  std::string message;
  SourceRange range; // invalid for a remark without a place
};

/// Whether a fix-it may be applied without asking.
enum class Applicability {
  safe,  // surely what the user meant
  maybe, // one of several fixes, or one that changes what is computed
};

/// An edit: the replacement text for a range.
struct FixIt {
  SourceRange range;
  std::string replacement;
  Applicability applicability = Applicability::maybe;
  /// Index of the diagnostic's help that this edit implements; empty when the
  /// edit needs no help text.
  std::optional<size_t> help = std::nullopt;
};

/// One of the alternatives in a proposal.
struct WayOut {
  std::string text;                  // as the help prints it: `2`
  std::vector<std::string> settings; // as `--set` takes them: `parallel.tp=2`
  std::vector<FixIt> edits = {}; // for what no setting reaches, such as a `let`
};

/// A help that the driver tests before it prints it. Its text is `before`, the
/// alternatives joined by commas and "or", and `after`: "change `tp` to 2 or
/// 4". The driver compiles the recipe with each alternative and prints only
/// those that leave no error; see driver/Proposals.h.
struct Proposal {
  std::string before;
  std::vector<WayOut> ways; // best first
  std::string after;
  size_t most = 3; // number of alternatives that are printed
};

struct Diagnostic {
  Kind kind;
  SourceRange range; // the user's value, never the rule
  std::string message;
  std::string label; // may be empty; text under the range
  std::vector<Label> labels;
  std::vector<Note> notes;
  std::vector<std::string> helps;
  std::vector<FixIt> fixIts;
  /// The first proposal with an alternative that works becomes a help.
  std::vector<Proposal> proposals;
  std::string otherwise; // the help when no other one is left; may be empty
  /// The compilations that found it, when a command makes several; empty when
  /// it belongs to no particular one.
  std::vector<std::string> subjects;
};

/// Adds labels, notes and helps to a diagnostic just reported.
class Builder {
public:
  /// `comparisons` is the remaining budget of suggestions, in compared names.
  explicit Builder(Diagnostic& diagnostic, size_t* comparisons = nullptr)
      : diagnostic(diagnostic), comparisons(comparisons) {}
  /// The text under the primary range.
  Builder& label(std::string text);
  /// A secondary range. It is shown as a note when it is invalid or lies in the
  /// standard library.
  Builder& label(SourceRange range, std::string text);
  Builder& note(std::string message, SourceRange range = {});
  Builder& help(std::string message);
  /// Adds a help that is printed only when a trial compilation shows that it
  /// fixes the error.
  Builder& propose(Proposal proposal);
  /// Adds a help that is printed only when no other help is left.
  Builder& otherwise(std::string message);
  /// The edit that implements the last help, if there is one. The driver tries
  /// the edit, and drops it with its help when the recipe still has an error
  /// there. Without a valid range there is nothing to edit, and no edit is
  /// added.
  Builder& fixIt(SourceRange range, std::string replacement,
                 Applicability applicability = Applicability::maybe);
  /// Adds "did you mean" with the nearest candidate, and a fix-it that replaces
  /// the range by that candidate between `quote`s. Returns false when no
  /// candidate is near or when the budget of comparisons is used up.
  bool suggest(SourceRange range, std::string_view name,
               const std::vector<std::string>& candidates,
               std::string_view quote = "");
  /// Like `suggest`, but when it fails lists all candidates after `intro`, for
  /// example "its fields are ".
  void suggestOrList(SourceRange range, std::string_view name,
                     const std::vector<std::string>& candidates,
                     std::string_view intro, std::string_view quote = "");

private:
  Diagnostic& diagnostic;
  size_t* comparisons;
};

/// The part of a message that identifies its cause. This is the whole message,
/// except that messages about a value drop the value's path: several paths can
/// read the same wrong value.
std::string causeOf(Kind kind, const std::string& message);

/// An engine keeps at most this many diagnostics. It only counts the ones that
/// follow, because no useful recipe has that many errors.
inline constexpr size_t mostKept = 10'000;

/// Collects diagnostics in the order in which they are reported.
class Engine {
public:
  /// Messages are lower case, without a final period, names in backticks.
  /// The Builder is valid until the next report.
  Builder report(Kind kind, SourceRange range, std::string message);

  /// Appends the diagnostics of another engine. `subject` names the compilation
  /// that reported them, when a command makes several.
  void append(const Engine& other, const std::string& subject = "");

  /// Removes the diagnostics of a kind that is a warning.
  void remove(Kind warning);

  /// Whether further diagnostics are only counted. A phase may stop then.
  bool isFull() const { return diagnostics.size() >= mostKept; }
  bool hasErrors() const { return errorCount > 0; }
  int errors() const { return errorCount; }
  const std::vector<Diagnostic>& all() const { return diagnostics; }
  /// A builder for the diagnostic at `index` of all().
  Builder at(size_t index) { return Builder(diagnostics[index]); }
  /// The diagnostic at `index` of all(), for changes.
  Diagnostic& edit(size_t index) { return diagnostics[index]; }
  /// Sorts by source, in the order in which sources were opened, and then by
  /// offset. The sort is stable.
  void sortByPlace();
  /// Prepares the diagnostics for printing: sorts them and merges duplicates.
  /// For example, two recipes that amend the same erring recipe report the same
  /// error. The merged diagnostic has the subjects of all duplicates.
  void arrange();

private:
  std::vector<Diagnostic> diagnostics;
  Diagnostic dropped{}; // the last diagnostic that was only counted
  int errorCount = 0;   // includes the errors that were only counted
  /// The budget of suggestions. A file with ten thousand misspelt names must
  /// not take minutes.
  size_t comparisons = 4'000'000;
};

/// The candidate that the user most likely meant, by edit distance; nullopt
/// when no candidate is near.
std::optional<std::string>
didYouMean(std::string_view name, const std::vector<std::string>& candidates);

/// "`a`, `b` and 3 more": the first `most` of the names.
std::string quotedList(const std::vector<std::string>& names, size_t most);

/// The result of didYouMean. When only digits differ, returns up to three
/// candidates at the same distance, because `llama3_7b` may mean `llama3_8b` or
/// `llama2_7b`.
std::vector<std::string> nearNames(std::string_view name,
                                   const std::vector<std::string>& candidates);

/// Whether `name` is certainly a misspelling of `meant`: at most two letters
/// differ, and no other near candidate is that close.
bool isSurelyMeant(std::string_view name, const std::string& meant,
                   const std::vector<std::string>& candidates);

} // namespace recipec::diag

#endif // RECIPEC_DIAG_DIAGNOSTIC_H
