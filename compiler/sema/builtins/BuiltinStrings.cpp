// Built-in functions for strings. The limit on a string's length also holds
// while a result is built.

#include "compiler/base/Utf8.h"
#include "compiler/recipe/Format.h"
#include "compiler/sema/builtins/BuiltinHandlers.h"
#include "compiler/sema/builtins/Builtins.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/values/Limits.h"

#include <algorithm>

namespace recipec::sema {
namespace {

constexpr std::string_view spaces = " \t\r\n";

char upperOf(char c) {
  return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
}
char lowerOf(char c) {
  return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
}

Value mapped(BuiltinCall& call, char (*map)(char)) {
  std::string text = call.text(0);
  std::transform(text.begin(), text.end(), text.begin(), map);
  return call.evaluator.makeString(std::move(text), call.range);
}

std::string display(BuiltinCall& call, const Value& value) {
  const std::string* text = value.get<std::string>();
  return text ? *text : describe(call.evaluator, value);
}

bool reportEmpty(BuiltinCall& call, size_t index, const char* what) {
  if (!call.text(index).empty())
    return false;
  call.reportValue(index, std::string("the ") + what + " of " + call.name() +
                              " is empty")
      .help("write one character or more, as in `\",\"`");
  return true;
}

} // namespace

Value runUpper(BuiltinCall& call) {
  return mapped(call, upperOf);
}

Value runLower(BuiltinCall& call) {
  return mapped(call, lowerOf);
}

Value runTrim(BuiltinCall& call) {
  const std::string& text = call.text(0);
  size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string::npos)
    return {std::string(), call.origin()};
  size_t end = text.find_last_not_of(spaces) + 1;
  return call.evaluator.makeString(text.substr(begin, end - begin), call.range);
}

Value runSplit(BuiltinCall& call) {
  if (reportEmpty(call, 1, "separator"))
    return {};
  const std::string& text = call.text(0);
  const std::string& separator = call.text(1);
  std::vector<Value> parts;
  for (size_t begin = 0, end = 0; end != std::string::npos;
       begin = end + separator.size()) {
    end = text.find(separator, begin);
    if (!call.evaluator.limits.takeStep(call.range))
      return {};
    parts.push_back(
        call.evaluator.makeString(text.substr(begin, end - begin), call.range));
    if (parts.back().isPoison())
      return {};
  }
  return call.evaluator.makeList(std::move(parts), call.range);
}

Value runJoin(BuiltinCall& call) {
  std::string text;
  const std::vector<Value>& list = call.list(0);
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].isScalar()) {
      call.reportElement(0, i, "a string or another plain value");
      return {};
    }
    if (i > 0)
      text += call.text(1);
    text += display(call, list[i]);
    if (!call.evaluator.limits.fitsString(text.size(), call.range))
      return {};
  }
  return call.evaluator.makeString(std::move(text), call.range);
}

Value runReplace(BuiltinCall& call) {
  if (reportEmpty(call, 1, "text to replace"))
    return {};
  const std::string& text = call.text(0);
  const std::string& old = call.text(1);
  std::string result;
  for (size_t begin = 0;;) {
    size_t end = text.find(old, begin);
    result.append(text, begin, end - begin);
    if (end == std::string::npos)
      break;
    result += call.text(2);
    if (!call.evaluator.limits.takeStep(call.range) ||
        !call.evaluator.limits.fitsString(result.size(), call.range))
      return {};
    begin = end + old.size();
  }
  return call.evaluator.makeString(std::move(result), call.range);
}

Value runStartsWith(BuiltinCall& call) {
  return {call.text(0).starts_with(call.text(1)), call.origin()};
}

Value runEndsWith(BuiltinCall& call) {
  return {call.text(0).ends_with(call.text(1)), call.origin()};
}

Value runPad(BuiltinCall& call) {
  const Value& value = call.arguments[0];
  bool isNumber = value.is<int64_t>() || value.is<DimRef>();
  if (!isNumber && !value.is<std::string>()) {
    call.evaluator.messages
        .report(diag::Kind::WrongType, call.places[0],
                "`pad` takes an `int` or a string, and this is of type `" +
                    fullTypeNameOf(call.evaluator.sources, value) + "`")
        .help("write `pad(str(...), ...)`");
    return {};
  }
  std::string text = display(call, value);
  int64_t missing = call.integer(1) - countCodePoints(text);
  if (missing > 0) {
    size_t sign = isNumber && text.starts_with('-') ? 1 : 0;
    if (!call.evaluator.limits.fitsString(size_t(missing), call.range))
      return {};
    text.insert(sign, size_t(missing), isNumber ? '0' : ' ');
  }
  return call.evaluator.makeString(std::move(text), call.range);
}

Value runStr(BuiltinCall& call) {
  return call.evaluator.makeString(display(call, call.arguments[0]),
                                   call.range);
}

} // namespace recipec::sema
