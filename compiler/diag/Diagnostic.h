// Diagnostics: what the user did, where, and a way out.
//
// A phase reports into an Engine; only the driver renders. A kind is one line
// in DiagnosticKinds.def (name, severity) and one paragraph in
// Explanations.cpp; either missing fails the build or a test.

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
/// Finds a kind by the name that a rendered diagnostic prints in brackets.
std::optional<Kind> findKind(std::string_view name);
/// All names, in the order of DiagnosticKinds.def.
std::vector<std::string> kindNames();
/// The long text that `recipec explain KIND` prints.
std::string_view explanation(Kind kind);

/// A further place that the message is about, and what is there: the first of
/// two declarations, an operand. Shown beside the primary range.
struct Label {
  SourceRange range;
  std::string text; // may be empty
};

/// A remark under the message: the rule, the origin of an operand, ...
struct Note {
  std::string message;
  SourceRange range; // may be invalid: a remark without a place
};

/// Whether a fix-it may be applied without asking.
enum class Applicability {
  safe,  // surely what was meant
  maybe, // one of several ways out, or it changes what is computed
};

/// Text that a tool may put in the place of a range.
struct FixIt {
  SourceRange range;
  std::string replacement;
  Applicability applicability = Applicability::maybe;
  /// Which of the diagnostic's helps asks for it; none: it needs no words.
  std::optional<size_t> help = std::nullopt;
};

/// One of the changes that a proposal names.
struct WayOut {
  std::string text;                  // what the help calls it: `2`
  std::vector<std::string> settings; // as `--set` takes them: `parallel.tp=2`
  std::vector<FixIt> edits = {};     // of what no setting reaches, a `let`
};

/// A help that has yet to be tried: "change `tp` to " and the ways, joined by
/// commas and "or". The driver compiles the recipe under each way and prints
/// those alone that leave no error; see driver/Proposals.h.
struct Proposal {
  std::string before;
  std::vector<WayOut> ways; // the best first
  std::string after;
  size_t most = 3; // ways that are printed
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
  /// The first of them that has a way out becomes a help.
  std::vector<Proposal> proposals;
  std::string otherwise; // the help where no other is left; may be empty
  /// Which of several compilations found it; empty: none in particular.
  std::vector<std::string> subjects;
};

/// Adds labels, notes and helps to a diagnostic just reported.
class Builder {
public:
  /// `comparisons` is what suggestions may still take, counted in names.
  explicit Builder(Diagnostic& diagnostic, size_t* comparisons = nullptr)
      : diagnostic(diagnostic), comparisons(comparisons) {}
  /// The text under the primary range.
  Builder& label(std::string text);
  /// A secondary range; one that is not valid, or in the standard library, is
  /// shown as a note.
  Builder& label(SourceRange range, std::string text);
  Builder& note(std::string message, SourceRange range = {});
  Builder& help(std::string message);
  /// A help that is printed where a compilation shows that it helps.
  Builder& propose(Proposal proposal);
  /// A help that is printed where none of the others helps.
  Builder& otherwise(std::string message);
  /// The edit that the last help, if any, asks for. The driver tries it, and
  /// drops both where the recipe errs there still.
  Builder& fixIt(SourceRange range, std::string replacement,
                 Applicability applicability = Applicability::maybe);
  /// Asks "did you mean" the nearest candidate, with the fix-it that puts it
  /// (between `quote`s) in the place of the range. False when none is near, or
  /// where so many have been asked for that looking for one takes too long.
  bool suggest(SourceRange range, std::string_view name,
               const std::vector<std::string>& candidates,
               std::string_view quote = "");
  /// The same, or else lists the candidates behind `intro`: "its fields are ".
  void suggestOrList(SourceRange range, std::string_view name,
                     const std::vector<std::string>& candidates,
                     std::string_view intro, std::string_view quote = "");

private:
  Diagnostic& diagnostic;
  size_t* comparisons;
};

/// What two messages of one kind and place have in common where they have one
/// cause: all of the text, but for the path of a value that does not fit, which
/// is read by several.
std::string causeOf(Kind kind, const std::string& message);

/// An engine keeps so many diagnostics. What comes after them is counted only:
/// a file with more errors is no recipe.
inline constexpr size_t mostKept = 10'000;

/// Collects diagnostics in the order of their report.
class Engine {
public:
  /// Messages are lower case, without a final period, names in backticks.
  /// The Builder is valid until the next report.
  Builder report(Kind kind, SourceRange range, std::string message);

  /// Takes over what another engine collected, in the compilation of `subject`
  /// where several are made.
  void append(const Engine& other, const std::string& subject = "");

  /// Whether further diagnostics are counted only; a phase may end then.
  bool isFull() const { return diagnostics.size() >= mostKept; }
  bool hasErrors() const { return errorCount > 0; }
  int errors() const { return errorCount; }
  const std::vector<Diagnostic>& all() const { return diagnostics; }
  /// Adds to the one at `index` of all().
  Builder at(size_t index) { return Builder(diagnostics[index]); }
  /// The one at `index` of all(), to be changed.
  Diagnostic& edit(size_t index) { return diagnostics[index]; }
  /// Orders by source, as first opened, and place; keeps the order of equal
  /// places.
  void sortByPlace();
  /// What a command does before it prints: sorts, and leaves one of what was
  /// found several times, as by two recipes that amend one that errs. It has
  /// the subjects of all.
  void arrange();

private:
  std::vector<Diagnostic> diagnostics;
  Diagnostic dropped{}; // the last that was counted only
  int errorCount = 0;   // of those that were counted only, too
  /// A file of ten thousand misspelt names shall not take minutes.
  size_t comparisons = 4'000'000;
};

/// The name among `candidates` that the user most likely meant, by edit
/// distance; none when nothing is near.
std::optional<std::string>
didYouMean(std::string_view name, const std::vector<std::string>& candidates);

/// "`a`, `b` and 3 more": the first `most` of the names.
std::string quotedList(const std::vector<std::string>& names, size_t most);

/// That name; where they differ in digits alone, all of its distance (three at
/// most), since `llama3_7b` may be `llama3_8b` or `llama2_7b`.
std::vector<std::string> nearNames(std::string_view name,
                                   const std::vector<std::string>& candidates);

/// Whether the name is surely a misspelt `meant`: at most two letters differ,
/// and of no other near candidate so few.
bool isSurelyMeant(std::string_view name, const std::string& meant,
                   const std::vector<std::string>& candidates);

} // namespace recipec::diag

#endif // RECIPEC_DIAG_DIAGNOSTIC_H
