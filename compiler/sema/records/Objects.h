// Objects: makes records out of layers, and evaluates their slots.

#ifndef RECIPEC_SEMA_RECORDS_OBJECTS_H
#define RECIPEC_SEMA_RECORDS_OBJECTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string_view>
#include <utility>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// A field of a record while it is evaluated.
struct SlotOf {
  Object* object;
  Slot* slot;
};

class Objects {
public:
  explicit Objects(Evaluator& evaluator) : evaluator(evaluator) {}

  Object* make(const Schema* schema, std::vector<const Layer*> layers,
               SourceRange range);
  Object* copyInto(const Object& object, Object& container,
                   std::string_view key);
  Object* amended(const Object& base, const Layer* layer, SourceRange range);
  /// Evaluates a slot at its first use.
  const Value& force(Object& object, Slot& slot);
  /// The type of a field, or of the values of a map; null in other records.
  const Type* typeOf(const Object& object, const Slot& slot);
  /// Evaluates every field and checks every condition, in order.
  void finish(Object& object);
  void finishValue(const Value& value);
  /// The scope of a layer's expressions.
  const Env* scopeOf(Object& object, const Layer& layer,
                     std::string_view defined = {});
  /// The scope of one definition, with the variables of its `for` iteration if
  /// it is in one.
  const Env* scopeOf(Object& object, const Definition& definition,
                     std::string_view defined = {});
  const Env* schemaScope(Object& object, std::string_view defined = {});
  /// Whether an expression is a constant, so that its value is a plain default.
  static bool isConstant(const ast::File& file, ast::ExprId id);
  /// Labels the last `most` slots that are under evaluation.
  void labelChain(diag::Builder& builder, size_t most) const;
  /// The slot under evaluation; nullopt outside of records.
  std::optional<SlotOf> current() const;

private:
  void buildSlots(Object& object);
  void addDefinition(Object& object, const Layer& layer, const Member& member);
  Value slotValue(Object& object, Slot& slot);
  Value definedValue(Object& object, Slot& slot);
  Value defaultValue(Object& object, Slot& slot);
  bool addLayers(Object& object, const Slot& slot, size_t first, bool hasSchema,
                 std::vector<const Layer*>& layers);
  void reportNoFields(Object& object, const Slot& slot, const Value& base,
                      size_t first);
  Value amendSlot(Object& object, Slot& slot, const Value& base, size_t first);
  /// Gives each record in a list its container and key, like a record in a
  /// field.
  Value adoptElements(Object& object, const Slot& slot, const Value& list);
  Value typedSlot(Object& object, Slot& slot, Value value, SourceRange range);
  void reportMissing(Object& object, Slot& slot);
  bool helpWithLibraryRecord(diag::Builder& builder, Object& object);
  void reportCycle(Object& object, Slot& slot);

  Evaluator& evaluator;
  std::vector<SlotOf> running; // outermost first
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECORDS_OBJECTS_H
