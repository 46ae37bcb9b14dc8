// Compares the values of an object with its shape; see Shape.h.

#include "compiler/import/manifest/schemas/Shape.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace recipec::importer::manifest {
namespace {

using diag::Kind;
using Form = Shape::Form;

/// Words that YAML 1.1, and with it Kubernetes, reads as truth values.
bool isOldTruth(const Node& node) {
  constexpr std::array<std::string_view, 12> words = {
      "yes", "Yes", "YES", "no",  "No",  "NO",
      "on",  "On",  "ON",  "off", "Off", "OFF"};
  return node.isText() && node.isPlain() &&
         std::find(words.begin(), words.end(), node.text()) != words.end();
}

bool isLabel(std::string_view text) {
  constexpr size_t longest = 63;
  const auto isAllowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), isAllowed) &&
         text.front() != '-' && text.back() != '-';
}

/// Labels with `.` between them.
bool isSubdomain(std::string_view text) {
  constexpr size_t longest = 253;
  if (text.size() > longest)
    return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!isLabel(text.substr(0, dot)))
      return false;
    if (dot == text.npos)
      return true;
    text.remove_prefix(dot + 1);
  }
}

bool isDuration(std::string_view text) {
  bool hasDigits = false, hasUnit = false;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c))) {
      hasDigits = true;
      hasUnit = false;
    } else if (hasDigits &&
               std::string_view("ywdhms").find(c) != std::string_view::npos) {
      hasUnit = true;
    } else {
      return false;
    }
  }
  return hasUnit || text == "0";
}

/// A value as a message names it.
std::string described(const Node& node) {
  if (!node)
    return "null";
  if (node.isRecord())
    return "a mapping";
  if (node.isList())
    return "a list";
  constexpr size_t longest = 60;
  std::string text = node.text();
  if (text.size() > longest || text.find('\n') != text.npos)
    text = text.substr(0, std::min(longest, text.find('\n'))) + "...";
  if (node.isText())
    return "the string `\"" + text + "\"`";
  return (node.isTruth() ? "the truth value `" : "the number `") + text + "`";
}

std::string_view wantedOf(Form form) {
  switch (form) {
  case Form::any:
    return "a value";
  case Form::text:
  case Form::choice:
    return "a string";
  case Form::label:
    return "a name of lower-case letters, digits and `-`, at most 63";
  case Form::name:
    return "a name of lower-case letters, digits, `-` and `.`";
  case Form::integer:
    return "a whole number";
  case Form::count:
    return "a whole number of at least 0";
  case Form::positive:
    return "a whole number of at least 1";
  case Form::number:
    return "a number";
  case Form::truth:
    return "`true` or `false`";
  case Form::quantity:
    return "a quantity such as `8` or `64Gi`";
  case Form::eitherOne:
    return "a whole number or a string";
  case Form::duration:
    return "a duration such as `30s`";
  case Form::list:
    return "a list";
  case Form::map:
  case Form::record:
    return "a mapping";
  }
  return "";
}

bool isWhole(const Node& node, int64_t least) {
  return node.isInteger() && node.count().value_or(INT64_MIN) >= least;
}

bool fits(const Node& node, Form form) {
  const bool isString = node.isText() && !isOldTruth(node);
  switch (form) {
  case Form::any:
    return true;
  case Form::text:
  case Form::choice:
    return isString;
  case Form::label:
    return isString && isLabel(node.text());
  case Form::name:
    return isString && isSubdomain(node.text());
  case Form::integer:
    return node.isInteger();
  case Form::count:
    return isWhole(node, 0);
  case Form::positive:
    return isWhole(node, 1);
  case Form::number:
    return node.isNumber();
  case Form::truth:
    return node.isTruth() || isOldTruth(node);
  case Form::quantity:
    return (isString || node.isNumber()) && quantityOf(node.text());
  case Form::eitherOne:
    return isString || node.isInteger();
  case Form::duration:
    return isString && isDuration(node.text());
  case Form::list:
    return node.isList();
  case Form::map:
  case Form::record:
    return node.isRecord();
  }
  return false;
}

class ShapeChecker {
public:
  ShapeChecker(const Node& document, const Shape& shape, std::string kind,
               diag::Engine& engine)
      : document(document), root(shape), kind(std::move(kind)), engine(engine) {
  }

  void run() { check(document, root); }

private:
  void check(const Node& node, const Shape& shape);
  void checkRecord(const Node& node, const Shape& shape);
  void refuseType(const Node& node, const Shape& shape);
  void refuseField(const Node& field, const Shape& shape);

  const Node& document;
  const Shape& root;
  std::string kind;
  diag::Engine& engine;
};

std::string placeOf(const Node& node, const std::string& kind) {
  return node.path().empty() ? "a " + kind : "`" + node.path() + "`";
}

/// The path of the nearest record that has a field of this name; empty if there
/// is none. Searches by depth.
std::string pathOfField(const Shape& root, std::string_view name) {
  struct Place {
    const Shape* shape;
    std::string path;
    int depth;
  };
  constexpr int deepest = 9;
  std::vector<Place> places = {{&root, "", 0}};
  for (size_t i = 0; i < places.size(); ++i) {
    const Place place = places[i];
    if (place.depth > deepest)
      break;
    if (place.shape->form == Form::list || place.shape->form == Form::map) {
      places.push_back(
          {place.shape->element,
           place.path + (place.shape->form == Form::list ? "[]" : ".*"),
           place.depth + 1});
      continue;
    }
    if (!place.path.empty() && place.shape->find(name))
      return place.path;
    for (const ShapeField& field : place.shape->fields)
      places.push_back(
          {field.shape,
           place.path.empty() ? field.name : place.path + "." + field.name,
           place.depth + 1});
  }
  return {};
}

void ShapeChecker::refuseField(const Node& field, const Shape& shape) {
  const std::string where =
      field.path() == field.name()
          ? "a " + kind
          : "`" +
                field.path().substr(0, field.path().size() -
                                           field.name().size() - 1) +
                "` of a " + kind;
  auto builder = engine.report(Kind::ManifestSchema, field.nameRange(),
                               where + " has no field `" + field.name() + "`");
  std::vector<std::string> names;
  for (const ShapeField& each : shape.fields)
    names.push_back(each.name);
  const std::string path = pathOfField(root, field.name());
  if (!path.empty())
    builder.help("it is a field of `" + path + "`: move it there");
  else
    builder.suggestOrList(field.nameRange(), field.name(), names,
                          "its fields are ");
}

void ShapeChecker::refuseType(const Node& node, const Shape& shape) {
  auto builder = engine.report(
      Kind::ManifestSchema, node.range(),
      "`" + node.path() + "` is " +
          (isOldTruth(node)
               ? "`" + node.text() + "`, a truth value in Kubernetes' YAML,"
               : described(node)) +
          " and takes " + std::string(wantedOf(shape.form)));
  const bool isScalar = node && !node.isRecord() && !node.isList();
  if (isScalar && node.isPlain() && wantedOf(shape.form) == "a string") {
    builder.help("write `\"" + node.text() + "\"`");
    builder.fixIt(node.valueRange(), "\"" + node.text() + "\"",
                  diag::Applicability::safe);
  } else if (isScalar && node.isText() && !node.isPlain() &&
             (node.count() || node.text() == "true" ||
              node.text() == "false")) {
    builder.help("write `" + node.text() + "` without quotation marks");
    builder.fixIt(node.valueRange(), node.text(), diag::Applicability::safe);
  } else {
    builder.help("write " + std::string(wantedOf(shape.form)));
  }
}

void ShapeChecker::checkRecord(const Node& node, const Shape& shape) {
  for (const Node& field : node.fields()) {
    const ShapeField* known = shape.find(field.name());
    if (!known)
      refuseField(field, shape);
    else if (field)
      check(field, *known->shape);
  }
  for (const ShapeField& each : shape.fields)
    if (each.isRequired && !node[each.name])
      engine
          .report(Kind::ManifestSchema, node.range(),
                  placeOf(node, kind) + " has no `" + each.name +
                      "`, which is required")
          .help("add `" + each.name +
                "`: " + std::string(wantedOf(each.shape->form)));
}

void ShapeChecker::check(const Node& node, const Shape& shape) {
  if (!fits(node, shape.form)) {
    refuseType(node, shape);
    return;
  }
  if (shape.form == Form::choice) {
    const std::string value = node.text();
    if (std::ranges::find(shape.choices, value) == shape.choices.end())
      engine
          .report(Kind::ManifestSchema, node.range(),
                  "`" + node.path() + "` has no value `" + value + "`")
          .suggestOrList(node.range(), value, shape.choices, "its values are ");
  } else if (shape.form == Form::list) {
    for (const Node& each : node.elements())
      check(each, *shape.element);
  } else if (shape.form == Form::map) {
    for (const Node& each : node.fields())
      check(each, *shape.element);
  } else if (shape.form == Form::record) {
    checkRecord(node, shape);
  }
}

} // namespace

void checkShape(const Node& node, const Shape& shape, const std::string& kind,
                diag::Engine& engine) {
  ShapeChecker(node, shape, kind, engine).run();
}

} // namespace recipec::importer::manifest
