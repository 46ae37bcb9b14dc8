// Every text becomes a string literal inside `{{ }}`: text outside would lose
// line breaks, since transformers makes Jinja trim blocks.

#include "runtime/checkpoint/ChatTemplate.h"

#include <cstdio>
#include <string_view>

namespace reciperun::checkpoint {
namespace {

/// A Jinja string literal, with Python's escapes.
std::string literal(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char escaped[8];
    if (c == '\'' || c == '\\')
      quoted += {'\\', c};
    else if (c == '\n')
      quoted += "\\n";
    else if (byte < ' ' || byte == 0x7f)
      quoted.append(escaped, size_t(std::snprintf(escaped, sizeof escaped,
                                                  "\\x%02x", byte)));
    else
      quoted += c;
  }
  return quoted + "'";
}

/// `{{ 'text' }}`, or an empty string for an empty text.
std::string output(std::string_view text) {
  return text.empty() ? "" : "{{ " + literal(text) + " }}";
}

/// An output of a text with `{role}` replaced by the expression `role`.
std::string withRole(std::string_view text, const std::string& role) {
  constexpr std::string_view place = "{role}";
  std::string terms;
  while (!text.empty()) {
    const size_t at = text.find(place);
    const std::string_view before = text.substr(0, at);
    if (!before.empty())
      terms += (terms.empty() ? "" : " + ") + literal(before);
    if (at == text.npos)
      break;
    terms += (terms.empty() ? "" : " + ") + role;
    text.remove_prefix(at + place.size());
  }
  return terms.empty() ? "" : "{{ " + terms + " }}";
}

} // namespace

std::string jinjaTemplate(const plan::ChatTemplate& chat,
                          const std::string& bos, const std::string& eos) {
  const std::string role = "message['role']";
  return output(bos) + "{% for message in messages %}" +
         withRole(chat.before, role) + "{{ message['content'] }}" +
         withRole(chat.after, role) + "{% endfor %}" +
         "{% if add_generation_prompt %}" +
         withRole(chat.before, "'assistant'") + "{% else %}" + output(eos) +
         "{% endif %}";
}

} // namespace reciperun::checkpoint
