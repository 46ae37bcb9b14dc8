// The evaluated recipe: values without expressions, each with its origin.
//
// Sema produces it and the passes read it. The settings have the structure that
// stdlib/schema declares, so an accessor takes a path and relies on its type.
// Sema has traced the model into a Dataflow: the ops that its blocks call, in
// order, over tensors with named dimensions.

#ifndef RECIPEC_RECIPE_RECIPE_H
#define RECIPEC_RECIPE_RECIPE_H

#include "compiler/base/Source.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace recipec::recipe {

/// Where a value came from.
struct Origin {
  enum class Kind {
    written,      // in the recipe or in one that it amends
    defaultValue, // the schema's default
    commandLine,  // `--set`
    derived,      // computed from other values; the range is the expression
  };
  Kind kind = Kind::written;
  SourceRange range;
};

enum class DimId : int32_t { none = -1 };
enum class TensorId : int32_t { none = -1 };

struct None {
  bool operator==(const None&) const = default;
};
struct Auto {
  bool operator==(const Auto&) const = default;
};
enum class Unit { bytes, seconds, steps, epochs, tokens };
struct UnitName; // Units.h
/// A number with a unit, stored in the base unit: bytes, seconds, steps, ...
/// Equality compares amounts, not spelling.
struct Quantity {
  double amount = 0;
  Unit unit = Unit::bytes;
  const UnitName* written = nullptr; // the unit in the source, null if computed

  bool operator==(const Quantity& other) const {
    return amount == other.amount && unit == other.unit;
  }
};
/// A named dimension of the model, used as a value.
struct DimValue {
  DimId dim = DimId::none;
  bool operator==(const DimValue&) const = default;
};
/// `from -> to`: the dimensions that an op contracts and the ones that it
/// produces.
struct DimsMapping {
  std::vector<DimId> from;
  std::vector<DimId> to;
  bool operator==(const DimsMapping&) const = default;
};

/// A function in a field of type `fun(...)`. Passes see only its name.
struct FunctionName {
  std::string name;
  bool operator==(const FunctionName&) const = default;
};

struct Value;
using List = std::vector<Value>;

/// A record of a schema, or an anonymous one with an empty `schema`. Fields are
/// in the schema's order of declaration.
struct Record {
  std::string schema; // `lora`, `cosine`, `llama`: identifies the variant
  std::vector<std::pair<std::string, Value>> fields;

  const Value* find(std::string_view name) const;
};

struct Value {
  std::variant<None, Auto, bool, int64_t, double, std::string, Quantity,
               DimValue, DimsMapping, FunctionName, List, Record>
      data;
  Origin origin;

  bool isNone() const { return std::holds_alternative<None>(data); }
  bool isAuto() const { return std::holds_alternative<Auto>(data); }
};

struct Dim {
  std::string name; // `hidden`
  int64_t size = 0; // the full size, before sharding
  Origin origin;    // origin of the size
};

struct Attribute {
  std::string name;
  Value value;
};

/// An operand of a call as the user wrote it.
struct WrittenOperand {
  std::string parameter;
  SourceRange range;
  std::string text;
};

/// One call of an op, as stdlib/ops.recipe declares it.
struct Call {
  std::string op; // `linear`
  /// Tensor operands in the order of declaration; `none` for an omitted
  /// optional operand.
  std::vector<TensorId> operands;
  /// All other arguments, including defaults, in the order of declaration.
  std::vector<Attribute> attributes;
  std::string name;   // scoped: `layers.0.q`; empty if the call has no name
  std::string hfName; // scoped: `model.layers.0.self_attn.q_proj`
  int layer = -1;     // iteration of the outermost enclosing `for`
  TensorId result = TensorId::none;
  SourceRange range;
  /// The operands as they are written, for messages; empty for the calls of the
  /// library, and for those of one operand.
  std::vector<WrittenOperand> written;

  const Value* find(std::string_view attribute) const;
};

/// The traced model. Tensors are numbered. `tokens` is the input [batch,
/// sequence] and `output` the logits [batch, sequence, vocab].
struct Dataflow {
  std::vector<Dim> dims; // the dimensions that the model declares
  std::vector<Call> calls;
  int tensorCount = 0;
  TensorId tokens = TensorId::none;
  TensorId output = TensorId::none;
};

struct Recipe {
  std::string name; // `support_bot`
  SourceRange range;
  Value settings; // a Record of the schema `recipe`
  Dataflow model;

  /// The value at a dotted path (`parallel.tp`); asserts that it exists.
  const Value& at(std::string_view path) const;
  const Value* find(std::string_view path) const;
  /// Typed access; asserts the type, which sema has checked. `real` also takes
  /// integers. `count` takes an integer, the size of a dim, or a whole
  /// quantity.
  int64_t integer(std::string_view path) const;
  double real(std::string_view path) const;
  bool boolean(std::string_view path) const;
  const std::string& string(std::string_view path) const;
  int64_t count(std::string_view path) const;
  const Record& record(std::string_view path) const;
};

/// The factor of the loss of further tokens in the loss that is trained; 0 when
/// the model predicts the next token alone.
double furtherFactor(const Recipe& recipe);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_RECIPE_H
