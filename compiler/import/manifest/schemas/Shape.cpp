// Reads the notation of shapes; see Shape.h.

#include "compiler/import/manifest/schemas/Shape.h"

#include <algorithm>
#include <cassert>
#include <cctype>

namespace recipec::importer::manifest {
namespace {

using Form = Shape::Form;

struct Builtin {
  std::string_view word;
  Form form;
};

constexpr Builtin builtins[] = {
    {"any", Form::any},           {"string", Form::text},
    {"label", Form::label},       {"name", Form::name},
    {"int", Form::integer},       {"count", Form::count},
    {"positive", Form::positive}, {"number", Form::number},
    {"bool", Form::truth},        {"quantity", Form::quantity},
    {"duration", Form::duration}, {"int-or-string", Form::eitherOne},
};

} // namespace

const ShapeField* Shape::find(std::string_view field) const {
  const auto found = std::ranges::find(fields, field, &ShapeField::name);
  return found == fields.end() ? nullptr : &*found;
}

class Shapes::Parser {
public:
  Parser(Shapes& shapes, std::string_view text) : shapes(shapes), rest(text) {}

  void parse() {
    for (skipBlanks(); !rest.empty(); skipBlanks()) {
      expect("type");
      const std::string name = word();
      expect("=");
      Shape* declared = reference(name);
      assert(declared->form == Form::any && "a type is declared twice");
      *declared = *shape();
    }
  }

private:
  void skipBlanks() {
    while (!rest.empty() &&
           std::isspace(static_cast<unsigned char>(rest.front())))
      rest.remove_prefix(1);
  }
  bool take(std::string_view text) {
    skipBlanks();
    if (!rest.starts_with(text))
      return false;
    rest.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) {
    const bool isThere = take(text);
    assert(isThere && "the notation of a shape is wrong");
    static_cast<void>(isThere);
  }
  std::string word() {
    skipBlanks();
    size_t size = 0;
    while (
        size < rest.size() &&
        (std::isalnum(static_cast<unsigned char>(rest[size])) ||
         std::string_view("-_.$/").find(rest[size]) != std::string_view::npos))
      ++size;
    assert(size > 0 && "the notation of a shape lacks a word");
    std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }

  Shape* make(Form form) {
    shapes.all.push_back({.form = form});
    return &shapes.all.back();
  }
  Shape* reference(const std::string& name) {
    Shape*& shape = shapes.named[name];
    if (!shape)
      shape = make(Form::any);
    return shape;
  }

  const Shape* shape() {
    if (take("["))
      return elements(Form::list, "]");
    if (take("{"))
      return record();
    if (take("\"")) {
      Shape* one = make(Form::choice);
      one->choices.push_back(word());
      expect("\"");
      return one;
    }
    const std::string first = word();
    if (first == "map")
      return elements(Form::map, "");
    skipBlanks();
    if (rest.starts_with("|"))
      return choice(first);
    for (const Builtin& each : builtins)
      if (each.word == first) {
        Shape*& known = shapes.words[first];
        if (!known)
          known = make(each.form);
        return known;
      }
    return reference(first);
  }

  const Shape* elements(Form form, std::string_view end) {
    Shape* list = make(form);
    list->element = shape();
    if (!end.empty())
      expect(end);
    return list;
  }

  const Shape* choice(const std::string& first) {
    Shape* own = make(Form::choice);
    own->choices.push_back(first);
    while (take("|"))
      own->choices.push_back(word());
    return own;
  }

  const Shape* record() {
    Shape* own = make(Form::record);
    do {
      ShapeField field;
      field.name = word();
      field.isRequired = take("*");
      field.shape = shape();
      own->fields.push_back(std::move(field));
    } while (take(","));
    expect("}");
    return own;
  }

  Shapes& shapes;
  std::string_view rest;
};

void Shapes::add(std::string_view text) {
  Parser(*this, text).parse();
}

void Shapes::finish() const {
  for (const auto& [name, shape] : named)
    assert(shape->form != Form::any && "a type is not declared");
}

const Shape* Shapes::find(std::string_view type) const {
  const auto found = named.find(type);
  return found == named.end() ? nullptr : found->second;
}

} // namespace recipec::importer::manifest
