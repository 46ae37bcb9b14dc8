// The parser sends events to a handler, which passes them on to a document, or
// keeps them as elements while it is within an array of these.

#include "runtime/server/kserve/RequestJson.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace reciperun::server {
namespace {

Status missingMember(const char* name) {
  return Status::error("attempt to access non-existing object member '" +
                       std::string(name) + "'");
}

// The most values of a document, which takes 16 bytes for each and more while
// it grows.
constexpr size_t mostValues = 1'000'000;
// The most open lists and objects, for each of which the parser takes 8 bytes.
constexpr size_t mostNesting = 1'000'000;

class RequestHandler {
public:
  using SizeType = rapidjson::SizeType;

  RequestHandler(ElementPlace place, RequestJson& request)
      : place(place), values(request.values), elements(request.elements) {}

  bool Null() { return isApart() ? addOther() : take() && values.Null(); }
  bool Bool(bool value) {
    return isApart() ? add([&](JsonElements& all) { all.addBool(value); })
                     : take() && values.Bool(value);
  }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Int64(int64_t value) {
    return isApart() ? add([&](JsonElements& all) { all.addInteger(value); })
                     : take() && values.Int64(value);
  }
  bool Uint64(uint64_t value) {
    return isApart() ? add([&](JsonElements& all) { all.addUnsigned(value); })
                     : take() && values.Uint64(value);
  }
  bool Double(double value) {
    return isApart() ? add([&](JsonElements& all) { all.addReal(value); })
                     : take() && values.Double(value);
  }
  bool RawNumber(const char*, SizeType, bool) { return false; } // not asked for
  bool String(const char* text, SizeType size, bool copies) {
    return isApart() ? add([&](JsonElements& all) {
      all.addText({text, size});
    })
                     : take() && values.String(text, size, copies);
  }

  bool StartObject();
  bool Key(const char* name, SizeType size, bool copies);
  bool EndObject(SizeType members);
  bool StartArray();
  bool EndArray(SizeType size);

  bool hasTooMany() const { return count > mostValues || open > mostNesting; }

private:
  bool isApart() const { return arrays > 0; }
  bool take();
  bool addOther();
  bool startArrayApart();
  bool endArrayApart(SizeType size);
  template <class Add> bool add(const Add& addTo);

  ElementPlace place;
  rapidjson::Document& values;
  std::vector<JsonElements>& elements;
  size_t count = 0; // values of the document
  size_t open = 0;  // lists and objects, of all kinds
  size_t depth = 0; // lists and objects of the document that are open
  bool isInputsKey = false, isInInputs = false;
  bool isElementKey = false; // a list that comes next has elements
  size_t arrays = 0;         // open within elements
  size_t ignored = 0;        // lists and objects open in an object within them
};

/// Counts a value of the document. Returns false if there are too many.
bool RequestHandler::take() {
  isElementKey = false;
  return ++count <= mostValues;
}

/// Adds an element of a tensor.
template <class Add> bool RequestHandler::add(const Add& addTo) {
  if (ignored > 0)
    return true;
  if (arrays >= mostJsonDepth)
    elements.back().markTooDeep();
  addTo(elements.back());
  return true;
}

bool RequestHandler::addOther() {
  return add([](JsonElements& all) { all.addOther(); });
}

bool RequestHandler::StartObject() {
  if (++open > mostNesting)
    return false;
  if (isApart()) {
    addOther();
    ++ignored;
    return true;
  }
  ++depth;
  return take() && values.StartObject();
}

bool RequestHandler::Key(const char* name, SizeType size, bool copies) {
  if (isApart())
    return true;
  const std::string_view key(name, size);
  if (depth == 1)
    isInputsKey = key == "inputs";
  const bool isTensorData = isInInputs && depth == 3 && key == "data";
  if (!take())
    return false;
  isElementKey = place == ElementPlace::inputs    ? isTensorData
                 : place == ElementPlace::members ? depth <= 2
                                                  : false;
  return values.Key(name, size, copies);
}

bool RequestHandler::EndObject(SizeType members) {
  --open;
  if (isApart()) {
    --ignored;
    return true;
  }
  --depth;
  return values.EndObject(members);
}

bool RequestHandler::StartArray() {
  if (++open > mostNesting)
    return false;
  if (isElementKey)
    elements.emplace_back();
  if (isElementKey || isApart())
    return startArrayApart();
  if (depth == 1 && isInputsKey)
    isInInputs = true;
  ++depth;
  return take() && values.StartArray();
}

bool RequestHandler::startArrayApart() {
  isElementKey = false;
  if (ignored > 0) {
    ++ignored;
    return true;
  }
  if (arrays >= mostJsonDepth)
    elements.back().markTooDeep();
  ++arrays;
  return true;
}

bool RequestHandler::EndArray(SizeType size) {
  --open;
  if (isApart())
    return endArrayApart(size);
  if (--depth == 1)
    isInInputs = false;
  return values.EndArray(size);
}

bool RequestHandler::endArrayApart(SizeType size) {
  if (ignored > 0) {
    --ignored;
    return true;
  }
  if (--arrays > 0)
    return true;
  elements.back().setListSize(size);
  return take() && values.StartArray() &&
         values.Uint(unsigned(elements.size() - 1)) && values.EndArray(1);
}

/// What rapidjson::Document::Populate calls.
struct Parse {
  std::string_view text;
  RequestHandler& handler;
  rapidjson::ParseResult result;

  bool operator()(rapidjson::Document&) {
    rapidjson::MemoryStream bytes(text.data(), text.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream>
        stream(bytes); // skips a byte order mark
    rapidjson::Reader reader;
    result = reader.Parse<rapidjson::kParseNanAndInfFlag |
                          rapidjson::kParseIterativeFlag>(stream, handler);
    return !result.IsError();
  }
};

} // namespace

Status wrongAccess(const std::string& is, const std::string& asked) {
  return Status::error("attempt to access JSON " + is + " as " + asked);
}

Expected<RequestJson> parseRequestJson(std::string_view text, size_t mostBytes,
                                       ElementPlace place) {
  if (text.size() > mostBytes)
    return Status::error(
        "request JSON size of " + std::to_string(text.size()) +
            " bytes exceeds the maximum allowed input size of " +
            std::to_string(mostBytes) +
            " bytes. Use --http-max-input-size to increase the limit.",
        StatusCode::invalidArgument);
  RequestJson request;
  RequestHandler handler(place, request);
  Parse parse = {text, handler, {}};
  request.values.Populate(parse);
  if (handler.hasTooMany())
    return Status::error("the request JSON has more than " +
                             std::to_string(mostValues) +
                             " values besides the elements of tensors",
                         StatusCode::invalidArgument);
  if (parse.result.IsError())
    return Status::error(
        "failed to parse the request JSON buffer: " +
        std::string(rapidjson::GetParseError_En(parse.result.Code())) + " at " +
        std::to_string(parse.result.Offset()));
  return request;
}

Expected<bool> boolOf(const JsonValue& value) {
  if (!value.IsBool())
    return wrongAccess("non-boolean", "boolean");
  return value.GetBool();
}

Expected<int64_t> signedOf(const JsonValue& value) {
  if (!value.IsInt64())
    return wrongAccess("non-signed-integer", "signed-integer");
  return value.GetInt64();
}

Expected<uint64_t> unsignedOf(const JsonValue& value) {
  if (!value.IsUint64())
    return wrongAccess("non-unsigned-integer", "unsigned-integer");
  return value.GetUint64();
}

Expected<double> doubleOf(const JsonValue& value) {
  if (!value.IsNumber())
    return wrongAccess("non-number", "double");
  return value.GetDouble();
}

Expected<std::string_view> stringOf(const JsonValue& value) {
  if (!value.IsString())
    return wrongAccess("non-string", "string");
  return std::string_view(value.GetString(), value.GetStringLength());
}

const JsonValue* findMember(const JsonValue& object, const char* name) {
  if (!object.IsObject())
    return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

Expected<std::string_view> stringMember(const JsonValue& object,
                                        const char* name) {
  const JsonValue* const value = findMember(object, name);
  if (!value)
    return missingMember(name);
  return stringOf(*value);
}

Expected<const JsonValue*> arrayMember(const JsonValue& object,
                                       const char* name) {
  const JsonValue* const value = findMember(object, name);
  if (!value)
    return missingMember(name);
  if (!value->IsArray())
    return wrongAccess("non-array", "array");
  return value;
}

Status expectObject(const JsonValue& value) {
  return value.IsObject()
             ? Status::ok()
             : Status::error("attempt to get members for non-object");
}

Status unableToParse(const char* name, const Status& status) {
  return status.withContext("Unable to parse '" + std::string(name) + "'");
}

} // namespace reciperun::server
