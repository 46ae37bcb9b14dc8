// The messages of evaluation.
//
// One mistake makes one message: after the first report, further reports of the
// same cause at the same place are dropped. A place in the standard library is
// replaced by the user's value that led there.

#ifndef RECIPEC_SEMA_MESSAGES_H
#define RECIPEC_SEMA_MESSAGES_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace recipec::sema {

class Evaluator;
struct Object;
struct Slot;

/// One name of a dependency cycle.
struct CycleLink {
  std::string name;
  SourceRange range;
};

class Messages {
public:
  Messages(Evaluator& evaluator, diag::Engine& engine)
      : evaluator(evaluator), engine(engine) {}

  diag::Builder report(diag::Kind kind, SourceRange range, std::string message);
  /// Reports a cycle. Each link needs the next one, and the last needs the
  /// first.
  diag::Builder reportRecursion(std::vector<CycleLink> links);
  /// Labels the operands of the user's expression at `range` that computed the
  /// value being converted, and returns their names; nullopt when another
  /// expression did.
  std::optional<std::string> noteComputed(diag::Builder& builder,
                                          SourceRange range);

  /// Labels a further place of the last report.
  void labelLast(SourceRange range, std::string text);

  /// Whether the error limit is reached, so that evaluation can stop.
  bool isFull() const { return engine.isFull(); }
  int errors() const { return engine.errors(); }
  bool isMuted() const { return muted; }

  /// Discards all reports during its lifetime, while remedies are tried.
  class Muted {
  public:
    explicit Muted(Messages& messages)
        : messages(messages), outer(std::exchange(messages.muted, true)) {}
    ~Muted() { messages.muted = outer; }
    Muted(const Muted&) = delete;
    Muted& operator=(const Muted&) = delete;

  private:
    Messages& messages;
    bool outer;
  };

  /// Marks that a default or condition of a schema is being evaluated. Messages
  /// at places in the library then refer to the operands of that expression.
  class Derivation {
  public:
    /// `slot` is the slot of a default; null for a condition.
    Derivation(Messages& messages, Object& object, const Slot* slot,
               ast::ExprId expr)
        : messages(messages) {
      messages.derivations.push_back({&object, slot, expr});
    }
    ~Derivation() { messages.derivations.pop_back(); }
    Derivation(const Derivation&) = delete;
    Derivation& operator=(const Derivation&) = delete;

  private:
    Messages& messages;
  };

private:
  struct Derived {
    Object* object;
    const Slot* slot;
    ast::ExprId expr;
  };

  Evaluator& evaluator;
  diag::Engine& engine;
  std::set<std::tuple<SourceId, uint32_t, std::string>> reported;
  std::vector<Derived> derivations;
  diag::Diagnostic discarded; // receives messages that are not reported
  bool muted = false;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MESSAGES_H
