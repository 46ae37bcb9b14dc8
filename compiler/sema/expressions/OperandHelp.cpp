// See OperandHelp.h.
//
//   1. Each rule knows the intent behind an operator with certain operand
//      types, and writes the help with the user's operands.
//   2. Without a rule the help says what the operator takes.

#include "compiler/sema/expressions/OperandHelp.h"

#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace recipec::sema {
namespace {

/// Helps with a quantity and a plain number: the number lacks its unit.
void helpWithNumber(diag::Builder& builder, const Value& left,
                    const Value& right) {
  const auto* quantity = left.get<recipe::Quantity>();
  const Value& number = quantity ? right : left;
  if (!quantity)
    quantity = right.get<recipe::Quantity>();
  const int64_t* count = number.get<int64_t>();
  const bool isCount = quantity && quantity->unit != recipe::Unit::bytes &&
                       quantity->unit != recipe::Unit::seconds;
  if (isCount && count)
    builder.help("give the number its unit: `" + std::to_string(*count) + " " +
                 std::string(recipe::unitTypeName(quantity->unit)) + "`");
  else if (quantity && count && *count > 0)
    builder.help("give the number a unit, as in `" + std::to_string(*count) +
                 (quantity->unit == recipe::Unit::bytes ? "GiB" : "h") + "`");
  else
    builder.help("give both a unit, or divide by one: `80GiB / 1GiB` is 80");
}

bool isPlainString(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' &&
         text.find_first_of("\"\n", 1) == text.size() - 1;
}

/// Helps with joining a string and a value: `"runs/{size}"` for
/// `"runs/" + size`.
void helpWithJoin(diag::Builder& builder, std::string_view written) {
  const size_t plus = written.find(" + ");
  if (plus != written.npos && written.find('+', plus + 2) == written.npos) {
    const std::string_view left = written.substr(0, plus);
    const std::string_view right = written.substr(plus + 3);
    std::string joined;
    if (isPlainString(left) && isNamePath(right))
      joined = std::string(left.substr(0, left.size() - 1)) + "{" +
               std::string(right) + "}\"";
    if (isNamePath(left) && isPlainString(right))
      joined = "\"{" + std::string(left) + "}" + std::string(right.substr(1));
    if (!joined.empty()) {
      builder.help("`+` joins two strings: write `" + joined + "`");
      return;
    }
  }
  builder.help("a value stands in a text between braces: `\"runs/{name}\"`");
}

/// Helps with `8 * h100`, meant as eight ranks of that device.
bool helpWithDevices(const Evaluator& evaluator, diag::Builder& builder,
                     const Value& left, const Value& right,
                     std::string_view written) {
  const Value& device = left.is<Object*>() ? left : right;
  const Value& count = left.is<Object*>() ? right : left;
  Object* const* record = device.get<Object*>();
  const int64_t* ranks = count.get<int64_t>();
  if (!record || !(*record)->schema || (*record)->schema->name != "hardware" ||
      !evaluator.isLibrary((*record)->schema->range) || !ranks)
    return false;
  const size_t sign = written.find('*');
  if (sign == written.npos || written.find('\n') != written.npos)
    return false;
  std::string_view name =
      left.is<Object*>() ? written.substr(0, sign) : written.substr(sign + 1);
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  name = name.substr(0, name.find_last_not_of(' ') + 1);
  builder.help("`ranks` is their number: write `hardware = " +
               std::string(name) + ", ranks = " + std::to_string(*ranks) + "`");
  return true;
}

/// The operands that an operator or a list function accepts.
std::string_view takenBy(std::string_view what) {
  static constexpr std::pair<std::string_view, std::string_view> forms[] = {
      {"+", "`+` takes two numbers, two quantities of one unit, two strings or "
            "two lists"},
      {"-", "`-` takes two numbers or two quantities of one unit"},
      {"*", "`*` takes two numbers, a number and a quantity, or a list and how "
            "often it is repeated"},
      {"/", "`/` takes two numbers, two quantities of one unit, or a quantity "
            "and a number"},
      {"%", "`%` takes two numbers"},
      {"..", "a range has a whole number at both ends: `0..4`"},
      {"in", "`in` looks for an element in a list or range, for a string in a "
             "string, for a key in a map"},
      {"[]", "elements of lists, ranges and strings have numbers, `xs[0]`, "
             "those of maps have keys, `m[\"a\"]`"},
      {"sum", "`sum` adds numbers, or quantities of one unit; strings are "
              "joined by `join(list, \"\")`"},
      {"sorted",
       "all elements are numbers, quantities of one unit, or strings"},
      {"min", "`min` compares numbers, or quantities of one unit"},
      {"max", "`max` compares numbers, or quantities of one unit"},
  };
  for (const auto& [name, form] : forms)
    if (name == what)
      return form;
  return "compare two numbers, two quantities of one unit, or two strings";
}

class OperandHelp {
public:
  OperandHelp(const Evaluator& evaluator, diag::Builder& builder,
              std::string_view what, const Value& left, const Value& right,
              SourceRange range)
      : evaluator(evaluator), builder(builder), what(what), left(left),
        right(right), range(range), written(evaluator.sources.text(range)) {
    findSides();
  }

  void run() {
    if (!units() && !devices() && !realRange() && !tensors() && !strings() &&
        !unset() && !mixins() && !lists() && !conditions() && !records() &&
        !elements())
      builder.help(std::string(takenBy(what)));
  }

private:
  /// Finds the operands if they stand around a single operator on one line.
  void findSides() {
    const std::string sign = " " + std::string(what) + " ";
    const size_t at = written.find(sign);
    if (at == written.npos || written.find('\n') != written.npos ||
        written.find(sign, at + 1) != written.npos ||
        evaluator.isLibrary(range))
      return;
    first = written.substr(0, at);
    second = written.substr(at + sign.size());
  }
  bool hasSides() const { return !first.empty(); }
  bool help(std::string text) {
    builder.help(std::move(text));
    return true;
  }
  template <class T> bool isEither() const {
    return left.is<T>() || right.is<T>();
  }
  template <class T> bool areBoth() const {
    return left.is<T>() && right.is<T>();
  }
  bool isComparison() const {
    return what == "<" || what == ">" || what == "<=" || what == ">=" ||
           what == "==" || what == "!=";
  }

  // ---- rules

  bool units() {
    if (Operators::mixesUnits(left, right) &&
        (left.isNumber() || right.isNumber())) {
      helpWithNumber(builder, left, right);
      return true;
    }
    return areBoth<recipe::Quantity>() && what == "*" &&
           help("multiply a quantity by a number: one of the two has no unit");
  }

  bool devices() {
    return what == "*" &&
           helpWithDevices(evaluator, builder, left, right, written);
  }

  /// `1e-4..1e-3`
  bool realRange() {
    const size_t dots = written.find("..");
    if (what != ".." || !left.isNumber() || !right.isNumber() ||
        dots == written.npos || evaluator.isLibrary(range))
      return false;
    const std::string list = "[" + std::string(written.substr(0, dots)) + ", " +
                             std::string(written.substr(dots + 2)) + "]";
    builder
        .help("a range is of whole numbers: list the values, as in `" + list +
              "`")
        .fixIt(range, list);
    return true;
  }

  bool tensors() {
    if (!isEither<Tensor>())
      return false;
    if (isComparison())
      return help(std::string(noTensorCondition));
    return what == "sum" && help("tensors are added by `+`: write `a + b`");
  }

  /// `"runs/seq%d" % n`
  bool percentFormat() {
    const size_t sign = first.find('%');
    if (what != "%" || !isPlainString(first) || sign == first.npos ||
        first.find('%', sign + 1) != first.npos ||
        std::string_view("dsifg").find(first[sign + 1]) == first.npos)
      return false;
    const bool isNumber = right.is<int64_t>() &&
                          second.find_first_not_of("0123456789") == second.npos;
    if (!isNumber && !isNamePath(second))
      return false;
    std::string own = first;
    own.replace(sign, 2, isNumber ? second : "{" + second + "}");
    return help("a value stands in a text between braces: write `" + own + "`");
  }

  bool strings() {
    if (percentFormat())
      return true;
    if ((what == "+" && isEither<std::string>()) ||
        (what == "%" && left.is<std::string>())) {
      helpWithJoin(builder, written);
      return true;
    }
    if (what == "*" && left.is<std::string>() && right.is<int64_t>() &&
        hasSides())
      return help("a string is repeated by `join`: write `join([" + first +
                  " for i in 0.." + second + "], \"\")`");
    if (what == "-" && areBoth<std::string>() && hasSides())
      return help("a part of a string is taken out by `replace`: write "
                  "`replace(" +
                  first + ", " + second + ", \"\")`");
    const bool isMixed = (left.is<std::string>() && right.isNumber()) ||
                         (right.is<std::string>() && left.isNumber());
    if (!isComparison() || !isMixed || !hasSides())
      return false;
    const std::string& text = left.is<std::string>() ? first : second;
    return help("a string and a number are not compared: write `int(" + text +
                ")` for the number in it");
  }

  bool unset() {
    const bool isLeft = left.is<recipe::None>() || left.is<recipe::Auto>();
    const bool isRight = right.is<recipe::None>() || right.is<recipe::Auto>();
    if (!isLeft && !isRight)
      return false;
    const std::string word =
        (isLeft ? left : right).is<recipe::None>() ? "none" : "auto";
    const std::string& text = isLeft ? first : second;
    if (!isNamePath(text) || text == word)
      return help("`" + word + "` is no number: write a value in its place");
    return help("`" + text + "` is `" + word +
                "` here: choose a value for it, "
                "as in `(if " +
                text + " == " + word + " then 0 else " + text + ")`");
  }

  bool mixins() {
    if (!areBoth<const Mixin*>() || !hasSides())
      return false;
    builder
        .help("mixins are divided by commas: write `" + first + ", " + second +
              "`")
        .fixIt(range, first + ", " + second);
    return true;
  }

  bool lists() {
    const bool isLeft = left.is<const ListValue*>();
    if (what == "+" && isEither<const ListValue*>() && hasSides() &&
        !isEither<Tensor>()) {
      const std::string own = isLeft ? first + " + [" + second + "]"
                                     : "[" + first + "] + " + second;
      return help("`+` joins two lists: write `" + own + "`");
    }
    return what == "-" && areBoth<const ListValue*>() && hasSides() &&
           help("elements are left out by a condition: write `[x for x in " +
                first + " if not (x in " + second + ")]`");
  }

  /// `isLarge * 2`
  bool conditions() {
    if (!isEither<bool>() || isComparison() || !hasSides())
      return false;
    return help("a condition is no number: write `(if " +
                (left.is<bool>() ? first : second) + " then 1 else 0)`");
  }

  /// `a + { b = 2 }`
  bool records() {
    return areBoth<Object*>() && (what == "+" || what == "|") && hasSides() &&
           help("a record or map is amended by braces: write `" + first + " " +
                (second.starts_with('{') ? second : "{ ... }") + "`");
  }

  /// `m[0]`, `xs["a"]`
  bool elements() {
    const size_t bracket = written.rfind('[');
    if (what != "[]" || bracket == written.npos)
      return false;
    const std::string base(written.substr(0, bracket));
    if (Object* const* map = left.get<Object*>(); map && !(*map)->slots.empty())
      return help("its elements have keys: write `" + base + "[\"" +
                  std::string((*map)->slots.front().name) + "\"]`, say");
    if (left.is<const ListValue*>() || left.is<Range>() ||
        left.is<std::string>())
      return help("its elements have numbers: the first is `" + base + "[0]`");
    return left.is<const Mixin*>() &&
           help("the arguments of a mixin stand in parentheses: write `" +
                base + "(" +
                std::string(
                    written.substr(bracket + 1, written.size() - bracket - 2)) +
                ")`");
  }

  const Evaluator& evaluator;
  diag::Builder& builder;
  std::string_view what;
  const Value& left;
  const Value& right;
  SourceRange range;
  std::string_view written;
  std::string first, second; // empty if not known
};

} // namespace

bool isNamePath(std::string_view text) {
  return !text.empty() &&
         !std::isdigit(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '.';
         });
}

void helpWithOperands(const Evaluator& evaluator, diag::Builder& builder,
                      std::string_view what, const Value& left,
                      const Value& right, SourceRange range) {
  OperandHelp(evaluator, builder, what, left, right, range).run();
}

} // namespace recipec::sema
