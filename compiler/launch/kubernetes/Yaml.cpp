// Writes YAML with libyaml's emitter: one event for each part of a value.

#include "compiler/launch/kubernetes/Yaml.h"

#include <cassert>
#include <set>
#include <yaml.h>

namespace recipec::launch {
namespace {

/// Whether every reader takes the text for a string without quotes: it begins
/// with a letter or `/`, and it is no word for a truth value or for null.
bool isPlain(const std::string& text) {
  static const std::set<std::string> words = {"y",    "n",    "yes",  "no",
                                              "on",   "off",  "true", "false",
                                              "null", "none", "nan",  "inf"};
  if (text.empty() || !(isalpha(static_cast<unsigned char>(text.front())) ||
                        text.front() == '/'))
    return false;
  std::string lower;
  for (const char c : text)
    lower += char(tolower(static_cast<unsigned char>(c)));
  return !words.contains(lower);
}

class Emitter {
public:
  Emitter() {
    yaml_emitter_initialize(&emitter);
    yaml_emitter_set_output(&emitter, append, &text);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(event);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  ~Emitter() { yaml_emitter_delete(&emitter); }

  void document(const Json& value) {
    yaml_event_t event;
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 0);
    emit(event);
    node(value);
    yaml_document_end_event_initialize(&event, 1);
    emit(event);
  }

  std::string finish() {
    yaml_event_t event;
    yaml_stream_end_event_initialize(&event);
    emit(event);
    return std::move(text);
  }

private:
  static int append(void* data, unsigned char* bytes, size_t size) {
    static_cast<std::string*>(data)->append(reinterpret_cast<char*>(bytes),
                                            size);
    return 1;
  }

  /// The events follow the grammar, so the emitter has no reason to fail.
  void emit(yaml_event_t& event) {
    const int isDone = yaml_emitter_emit(&emitter, &event);
    assert(isDone && "libyaml refuses an event");
    static_cast<void>(isDone);
  }

  void scalar(const std::string& value, yaml_scalar_style_t style) {
    yaml_event_t event;
    yaml_scalar_event_initialize(
        &event, nullptr, nullptr,
        reinterpret_cast<yaml_char_t*>(const_cast<char*>(value.data())),
        int(value.size()), /*plain_implicit=*/1, /*quoted_implicit=*/1, style);
    emit(event);
  }

  void string(const std::string& value) {
    if (value.find('\n') != value.npos)
      scalar(value, YAML_LITERAL_SCALAR_STYLE);
    else
      scalar(value, isPlain(value) ? YAML_PLAIN_SCALAR_STYLE
                                   : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  void list(const Json& value) {
    yaml_event_t event;
    yaml_sequence_start_event_initialize(
        &event, nullptr, nullptr, 1,
        value.empty() ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    emit(event);
    for (const Json& each : value)
      node(each);
    yaml_sequence_end_event_initialize(&event);
    emit(event);
  }

  void map(const Json& value) {
    yaml_event_t event;
    yaml_mapping_start_event_initialize(
        &event, nullptr, nullptr, 1,
        value.empty() ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE);
    emit(event);
    for (const auto& [key, each] : value.items()) {
      string(key);
      node(each);
    }
    yaml_mapping_end_event_initialize(&event);
    emit(event);
  }

  void node(const Json& value) {
    if (value.is_object())
      return map(value);
    if (value.is_array())
      return list(value);
    if (value.is_string())
      return string(value.get<std::string>());
    scalar(value.dump(), YAML_PLAIN_SCALAR_STYLE);
  }

  yaml_emitter_t emitter{};
  std::string text;
};

} // namespace

std::string yamlOf(const std::vector<Json>& objects) {
  Emitter emitter;
  for (const Json& object : objects)
    emitter.document(object);
  return emitter.finish();
}

} // namespace recipec::launch
