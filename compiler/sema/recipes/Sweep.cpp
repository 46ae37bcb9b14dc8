// Reads the sweep of a recipe; see Sweep.h.
//
// 1. Collect the axes from the layers of the recipe: the last layer that names
//    a path gives its values, and the first gives its position; `none` removes
//    an axis.
// 2. Evaluate the values in the scope of their braces, in the recipe without
//    its sweep.
// 3. Split each record into its leaves, and drop leaves that overrides set.
// 4. Check that no two axes set the same field and no two points have the same
//    name.

#include "compiler/sema/recipes/Sweep.h"

#include "compiler/base/Utf8.h"
#include "compiler/recipe/Format.h"
#include "compiler/sema/recipes/AxisHelp.h"
#include "compiler/sema/types/Mismatch.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

namespace recipec::sema {
namespace {

using Path = std::vector<ast::Name>;

std::string joined(const Path& path) {
  std::string text;
  for (const ast::Name& name : path)
    text += (text.empty() ? "" : ".") + name.text;
  return text;
}

bool isPrefix(const Path& prefix, const Path& path) {
  return prefix.size() <= path.size() &&
         std::equal(prefix.begin(), prefix.end(), path.begin(),
                    [](const ast::Name& left, const ast::Name& right) {
                      return left.text == right.text;
                    });
}

/// Finds two paths of which one is a prefix of the other. Returns the longer
/// one, or nullopt when there is no pair.
std::optional<std::string> commonField(const std::vector<Path>& some,
                                       const std::vector<Path>& others) {
  for (const Path& path : some)
    for (const Path& other : others) {
      if (isPrefix(path, other))
        return joined(other);
      if (isPrefix(other, path))
        return joined(path);
    }
  return std::nullopt;
}

/// Replaces the characters that file names cannot contain: the name of a point
/// is also a file name.
std::string sanitized(std::string_view text) {
  constexpr std::string_view plain = "._+=,@-";
  std::string result;
  for (unsigned char byte : text) {
    if (byte < 0x80 && (std::isalnum(byte) ||
                        plain.find(char(byte)) != std::string_view::npos))
      result += char(byte);
    else if (beginsCodePoint(char(byte)))
      result += '_';
  }
  return result;
}

/// Shortens the exponent of a number: `2e-5` for `2e-05`.
std::string realText(double value) {
  std::string text = recipe::formatReal(value);
  size_t exponent = text.find('e');
  if (exponent == std::string::npos)
    return text;
  size_t digits = exponent + 2; // after the sign
  while (digits + 1 < text.size() && text[digits] == '0')
    text.erase(digits, 1);
  return text;
}

/// Whether the text is a plain number, `1e-4` or `8Ki tokens`, not an
/// expression.
bool isNumberText(std::string_view text) {
  std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || !std::isdigit(static_cast<unsigned char>(digits[0])))
    return false;
  for (size_t i = 1; i < digits.size(); ++i) {
    bool isSign = digits[i] == '-' || digits[i] == '+';
    bool isExponent = digits[i - 1] == 'e' || digits[i - 1] == 'E';
    bool isPart = std::isalnum(static_cast<unsigned char>(digits[i])) ||
                  digits[i] == '.' || digits[i] == '_' || digits[i] == ' ';
    if (!isPart && !(isSign && isExponent))
      return false;
  }
  return digits.find("..") == std::string_view::npos;
}

/// Whether the text is a dotted name, `llama.llama3_8b`.
bool isDottedName(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '.';
         });
}

class SweepReader {
public:
  SweepReader(Evaluator& evaluator, const std::string& recipe, Object& settings,
              const std::vector<Override>& overrides)
      : evaluator(evaluator), settings(settings), overrides(overrides) {
    sweep.recipe = recipe;
  }

  std::optional<Sweep> run();

private:
  /// An axis as written, before its values are known.
  struct Written {
    Path path;
    ast::ExprId value;
    const Env* env;
    SourceRange range;
  };

  void collect(const Definition& definition);
  void collectBody(const Path& outer, ast::BodyId body, const Env& env);
  void add(Written axis);
  void readAxis(const Written& axis);
  std::optional<AxisValue> readValue(const Path& path, const Value& value);
  static bool isWrittenOut(const Written& axis, SourceRange element);
  void addLeaves(const Path& path, const Value& value, SourceRange range,
                 AxisValue& result);
  void addRecordLeaves(const Path& path, Object& record, SourceRange range,
                       AxisValue& result);
  static SourceRange rangeOf(const Slot& slot, SourceRange otherwise);
  std::string textOf(const Value& value, SourceRange range);
  std::string namedText(const Path& path, const Value& value, Object& record,
                        SourceRange range);
  /// Decides whether a slot is one that an element sets.
  using IsSet = std::function<bool(const Object&, const Slot&)>;
  void describeLeaves(const std::string& path, Object& record,
                      const IsSet& isSet, SourceRange element,
                      std::string& text);
  bool isOverridden(const Path& path) const;
  void dropOverridden(Axis& axis);
  void checkOverlaps();
  void reportOverlap(const Axis& first, const Axis& second,
                     const std::string& field);
  void checkCount();
  void checkNames();
  diag::Builder fail(diag::Kind kind, SourceRange range, std::string message) {
    isGood = false;
    return evaluator.messages.report(kind, range, std::move(message));
  }

  Evaluator& evaluator;
  Object& settings;
  const std::vector<Override>& overrides;
  std::vector<Written> written;
  bool isComputed = false; // whether the current element is not written out
  Sweep sweep;
  bool isGood = true;
};

// ---- axes

void SweepReader::collect(const Definition& definition) {
  const Member& member = *definition.member;
  Path path(member.path.begin() + 1, member.path.end());
  const Env& env = *evaluator.objects.scopeOf(settings, *definition.layer);
  if (member.body != ast::BodyId::none) {
    collectBody(path, member.body, env);
    return;
  }
  if (!path.empty()) {
    add({std::move(path), member.value, &env, member.range});
    return;
  }
  Value value = evaluator.evaluate(member.value, env);
  if (value.is<recipe::None>())
    written.clear();
  else if (value.isPoison())
    isGood = false;
  else
    fail(diag::Kind::WrongType, member.range, "`sweep` is no record of axes")
        .help("write `sweep { optimizer.lr = [1e-5, 2e-5] }`");
}

void SweepReader::collectBody(const Path& outer, ast::BodyId body,
                              const Env& env) {
  for (const ast::Item& item : (*env.file)[body].items) {
    auto* node = std::get_if<ast::Assignment>(&item.node);
    if (!node) {
      fail(diag::Kind::InvalidItem, item.range, "a sweep holds axes alone")
          .help("write each as `path = [value, ...]`");
      continue;
    }
    Path path = outer;
    path.insert(path.end(), node->path.begin(), node->path.end());
    if (node->body != ast::BodyId::none &&
        reportAxisInBraces(evaluator, settings, path, (*env.file)[node->body],
                           *env.file, item.range))
      isGood = false;
    else if (node->body != ast::BodyId::none)
      collectBody(path, node->body, env);
    else
      add({std::move(path), node->value, &env, item.range});
  }
}

void SweepReader::add(Written axis) {
  std::string path = joined(axis.path);
  auto known =
      std::find_if(written.begin(), written.end(), [&](const Written& other) {
        return joined(other.path) == path;
      });
  if (known == written.end()) {
    written.push_back(std::move(axis));
    return;
  }
  bool isInOneLayer = known->env->layer == axis.env->layer &&
                      known->range.source == axis.range.source;
  if (isInOneLayer && known->env->layer) {
    isGood = false;
    evaluator.messages
        .report(diag::Kind::DuplicateName, axis.range,
                "`" + path + "` is swept over twice")
        .label(known->range, "it is swept over here first")
        .help("remove one of the two");
    return;
  }
  *known = std::move(axis);
}

void SweepReader::readAxis(const Written& axis) {
  if (reportDistribution(evaluator, axis.path, axis.value, *axis.env)) {
    isGood = false;
    return;
  }
  Value value = evaluator.evaluate(axis.value, *axis.env);
  if (value.is<recipe::None>())
    return;
  if (value.isPoison()) {
    isGood = false;
    return;
  }
  std::string path = joined(axis.path);
  SourceRange range = (*axis.env->file)[axis.value].range;
  if (reportAxis(evaluator, settings, axis.path, value, range)) {
    isGood = false;
    return;
  }
  std::optional<std::vector<Value>> elements =
      evaluator.elementsOf(value, range);
  if (!elements) {
    isGood = false;
    return;
  }
  if (elements->empty()) {
    fail(diag::Kind::InvalidValue, range,
         "the axis `" + path + "` has no values")
        .help("list one at least, or remove the axis");
    return;
  }
  Axis result{path, axis.range, {}};
  for (Value& element : *elements) {
    const recipe::Origin& origin = element.origin;
    if (origin.range.source != range.source || origin.range.begin < range.begin)
      element.origin = evaluator.writtenAt(range); // a list with a name
    isComputed = !isWrittenOut(axis, element.origin.range);
    if (std::optional<AxisValue> read = readValue(axis.path, element))
      result.values.push_back(std::move(*read));
    else
      isGood = false;
  }
  dropOverridden(result);
  if (!result.values.empty())
    sweep.axes.push_back(std::move(result));
}

// ---- values

/// Whether the element is written in a list in brackets and has its own text.
/// All elements of a comprehension share one text.
bool SweepReader::isWrittenOut(const Written& axis, SourceRange element) {
  const ast::File& file = *axis.env->file;
  auto* list = std::get_if<ast::ListExpr>(&file[axis.value].node);
  return list && std::any_of(list->elements.begin(), list->elements.end(),
                             [&](ast::ExprId each) {
                               return file[each].range == element;
                             });
}

std::optional<AxisValue> SweepReader::readValue(const Path& path,
                                                const Value& value) {
  AxisValue result;
  result.range = value.origin.range;
  addLeaves(path, value, result.range, result);
  for (const Setting& setting : result.settings)
    if (setting.value.isPoison())
      return std::nullopt;
  return result;
}

void SweepReader::addLeaves(const Path& path, const Value& value,
                            SourceRange range, AxisValue& result) {
  Object* const* record = value.get<Object*>();
  if (record && !(*record)->schema) {
    addRecordLeaves(path, **record, range, result);
    return;
  }
  Setting setting{path, value, {}};
  setting.value.origin = evaluator.writtenAt(range);
  setting.text = record ? namedText(path, value, **record, range)
                        : sanitized(textOf(value, range));
  result.settings.push_back(std::move(setting));
}

void SweepReader::addRecordLeaves(const Path& path, Object& record,
                                  SourceRange range, AxisValue& result) {
  for (Slot& slot : record.slots) {
    Path inner = path;
    SourceRange place = rangeOf(slot, range);
    SourceRange name = slot.chain.empty()
                           ? place
                           : slot.chain.back().member->path.front().range;
    inner.push_back({std::string(slot.name), name});
    addLeaves(inner, evaluator.objects.force(record, slot), place, result);
  }
}

SourceRange SweepReader::rangeOf(const Slot& slot, SourceRange otherwise) {
  if (slot.chain.empty())
    return otherwise;
  const Definition& last = slot.chain.back();
  if (last.member->value == ast::ExprId::none)
    return last.member->range;
  const Env& env = last.member->env ? *last.member->env : *last.layer->env;
  return (*env.file)[last.member->value].range;
}

/// Formats a value for a point's name. Numbers that the user wrote keep their
/// text.
std::string SweepReader::textOf(const Value& value, SourceRange range) {
  bool isNumber = value.isNumber() || value.is<recipe::Quantity>();
  if (isNumber && range.isValid() &&
      isNumberText(evaluator.sources.text(range)))
    return std::string(evaluator.sources.text(range));
  if (const std::string* text = value.get<std::string>())
    return *text;
  if (const double* real = value.get<double>())
    return realText(*real);
  const ListValue* const* list = value.get<const ListValue*>();
  if (!list)
    return describe(evaluator, value);
  std::string text;
  for (const Value& element : (*list)->elements)
    text += (text.empty() ? "" : "+") + textOf(element, element.origin.range);
  return text;
}

/// Names a record that has a schema. The name consists of the element's own
/// name for the record and the fields that the element sets:
/// `tiny { layers = 1 }` on `model` is `tiny,model.layers=1`. A call that is
/// written out, `layered(2)`, is named by its text. A computed record is named
/// by its schema and the fields of its last layer: `llama,model.layers=2`.
std::string SweepReader::namedText(const Path& path, const Value& value,
                                   Object& record, SourceRange range) {
  std::string_view written = evaluator.sources.text(range);
  std::string_view head = written.substr(0, written.find_first_of("{("));
  std::string_view rest = written.substr(head.size());
  head = head.substr(0, head.find_last_not_of(" \t\n") + 1);
  std::string leaves;
  auto isInElement = [&](const Object&, const Slot& slot) {
    SourceRange set = slot.chain.back().member->range;
    return set.source == range.source && set.begin >= range.begin &&
           set.end <= range.end;
  };
  describeLeaves(joined(path), record, isInElement, range, leaves);
  std::string schema = typeNameOf(value);
  if (!leaves.empty() || !isComputed) {
    bool saysMore = rest.find_first_not_of("{}() \t\n") != rest.npos;
    if (leaves.empty() && saysMore) // for example, a function call
      return sanitized(written);
    return sanitized((isDottedName(head) ? std::string(head) : schema) +
                     leaves);
  }
  auto isSetLast = [](const Object& object, const Slot& slot) {
    return slot.chain.back().layer == object.layers.back();
  };
  describeLeaves(joined(path), record, isSetLast, range, leaves);
  return sanitized(schema + leaves);
}

void SweepReader::describeLeaves(const std::string& path, Object& record,
                                 const IsSet& isSet, SourceRange element,
                                 std::string& text) {
  for (Slot& slot : record.slots) {
    if (slot.chain.empty() || !isSet(record, slot))
      continue;
    std::string inner = path + "." + std::string(slot.name);
    const Value& value = evaluator.objects.force(record, slot);
    if (Object* const* object = value.get<Object*>())
      describeLeaves(inner, **object, isSet, element, text);
    else
      text += "," + inner + "=" + textOf(value, rangeOf(slot, element));
  }
}

// ---- overrides

bool SweepReader::isOverridden(const Path& path) const {
  return std::any_of(
      overrides.begin(), overrides.end(),
      [&](const Override& each) { return isPrefix(each.path, path); });
}

void SweepReader::dropOverridden(Axis& axis) {
  bool isDropped = false;
  std::vector<AxisValue> kept;
  for (AxisValue& value : axis.values) {
    size_t before = value.settings.size();
    std::erase_if(value.settings, [&](const Setting& setting) {
      return isOverridden(setting.path);
    });
    isDropped |= value.settings.size() < before;
    for (const Setting& setting : value.settings)
      value.name += (value.name.empty() ? "" : ",") + joined(setting.path) +
                    "=" + setting.text;
    if (value.name.empty()) // the record is `{}` or entirely overridden
      value.name = axis.path + "=";
    bool isRepeated =
        isDropped &&
        std::any_of(kept.begin(), kept.end(), [&](const AxisValue& other) {
          return other.name == value.name;
        });
    if (!isRepeated)
      kept.push_back(std::move(value));
  }
  axis.values = std::move(kept);
  if (isDropped && axis.values.size() == 1 && axis.values[0].settings.empty())
    axis.values.clear();
}

// ---- checks

/// Reports a field that two axes set: only the later axis would take effect.
void SweepReader::checkOverlaps() {
  std::vector<std::vector<Path>> paths; // for each axis
  for (const Axis& axis : sweep.axes) {
    std::map<std::string, Path> unique;
    for (const AxisValue& value : axis.values)
      for (const Setting& setting : value.settings)
        unique.emplace(joined(setting.path), setting.path);
    paths.emplace_back();
    for (auto& [text, path] : unique)
      paths.back().push_back(std::move(path));
  }
  for (size_t second = 0; second < paths.size(); ++second)
    for (size_t first = 0; first < second; ++first)
      if (std::optional<std::string> both =
              commonField(paths[first], paths[second]))
        reportOverlap(sweep.axes[first], sweep.axes[second], *both);
}

void SweepReader::reportOverlap(const Axis& first, const Axis& second,
                                const std::string& field) {
  isGood = false;
  evaluator.messages
      .report(diag::Kind::DuplicateName, second.range,
              "the axes `" + first.path + "` and `" + second.path +
                  "` both set `" + field + "`")
      .label(first.range, "the other axis")
      .help("leave one out: a record as value sets several fields together, "
            "`parallel = [{ tp = 1 }, { tp = 2, pp = 2 }]`");
}

void SweepReader::checkCount() {
  size_t count = 1;
  for (const Axis& axis : sweep.axes) {
    count *= axis.values.size();
    if (count <= maxPoints)
      continue;
    isGood = false;
    evaluator.messages
        .report(diag::Kind::TooLarge, axis.range,
                "this sweep has more than " + std::to_string(maxPoints) +
                    " points: the product of its axes")
        .help("sweep over fewer values, or over the axes one after another in "
              "recipes of their own");
    return;
  }
}

void SweepReader::checkNames() {
  std::map<std::string, size_t> points;
  for (size_t i = 0; i < sweep.count(); ++i) {
    std::string name = sweep.nameOf(i);
    const AxisValue& last = sweep.at(sweep.axes.size() - 1, i);
    if (name.size() > maxPointName) {
      isGood = false;
      evaluator.messages
          .report(diag::Kind::TooLarge, last.range,
                  "the name of this point has " + std::to_string(name.size()) +
                      " bytes, and files are called by it: at most " +
                      std::to_string(maxPointName))
          .note("it is `" + name + "`")
          .help("sweep over fewer fields, or over shorter values");
      return;
    }
    auto [known, isNew] = points.emplace(std::move(name), i);
    if (isNew)
      continue;
    size_t axis = 0;
    while (axis + 1 < sweep.axes.size() &&
           &sweep.at(axis, i) == &sweep.at(axis, known->second))
      ++axis;
    isGood = false;
    const SourceRange again = sweep.at(axis, i).range;
    const SourceRange first = sweep.at(axis, known->second).range;
    const std::string text(evaluator.sources.text(again));
    const bool isSame = again != first && text == evaluator.sources.text(first);
    evaluator.messages
        .report(diag::Kind::DuplicateName, again,
                "two points of this sweep are called `" + known->first + "`")
        .label(first, "the first of them")
        .help(isSame ? helpWithEqual(evaluator.sources, sweep.axes[axis])
                     : "a point is called by what it sets: give the values "
                       "names of their own, or sweep over the field that "
                       "differs");
    return;
  }
}

std::optional<Sweep> SweepReader::run() {
  for (const Definition& definition : settings.sweeps)
    collect(definition);
  for (const Written& axis : written)
    readAxis(axis);
  if (isGood)
    checkOverlaps();
  if (isGood)
    checkCount();
  if (isGood && !sweep.axes.empty())
    checkNames();
  if (!isGood)
    return std::nullopt;
  return std::move(sweep);
}

} // namespace

size_t Sweep::count() const {
  size_t count = axes.empty() ? 0 : 1;
  for (const Axis& axis : axes)
    count *= axis.values.size();
  return count;
}

const AxisValue& Sweep::at(size_t axis, size_t point) const {
  for (size_t i = axes.size() - 1; i > axis; --i)
    point /= axes[i].values.size();
  return axes[axis].values[point % axes[axis].values.size()];
}

std::string Sweep::nameOf(size_t point) const {
  std::string name = recipe;
  for (size_t i = 0; i < axes.size(); ++i)
    name += (i ? "," : "@") + at(i, point).name;
  return name;
}

std::optional<Sweep> sweepOf(Evaluator& evaluator, const std::string& recipe,
                             Object& settings,
                             const std::vector<Override>& overrides) {
  return SweepReader(evaluator, recipe, settings, overrides).run();
}

const Layer* pointLayer(Evaluator& evaluator, const Sweep& sweep,
                        size_t point) {
  Layer& layer = evaluator.store.make<Layer>();
  layer.env = &evaluator.modules.ops()->env;
  layer.range = sweep.axes.back().range;
  Value name{sweep.nameOf(point), evaluator.writtenAt(layer.range)};
  const Layer& named = *evaluator.layers.ofValue("name", name);
  layer.members.push_back(named.members.front());
  for (size_t i = 0; i < sweep.axes.size(); ++i)
    for (const Setting& setting : sweep.at(i, point).settings) {
      Member member;
      member.path = evaluator.store.make<std::vector<ast::Name>>(setting.path);
      member.given = &evaluator.store.make<Value>(setting.value);
      member.range = setting.value.origin.range;
      layer.members.push_back(member);
    }
  return &layer;
}

} // namespace recipec::sema
