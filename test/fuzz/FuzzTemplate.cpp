// libFuzzer target: chat templates.
//
// Any bytes are parsed as a template and rendered with a conversation, within
// limits. A refusal has a reason, and rendering twice gives the same text.

#include "runtime/jinja/Template.h"
#include "test/fuzz/Require.h"

#include <nlohmann/json.hpp>

using namespace reciperun;
using recipec::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const nlohmann::ordered_json variables = {
      {"messages",
       {{{"role", "system"}, {"content", "be brief"}},
        {{"role", "user"}, {"content", "é <b>"}},
        {{"role", "assistant"},
         {"content", nullptr},
         {"tool_calls", {{{"name", "f"}, {"arguments", {{"x", 1.5}}}}}}}}},
      {"tools", {{{"name", "f"}, {"parameters", nlohmann::json::object()}}}},
      {"bos_token", "<s>"},
      {"eos_token", "</s>"},
      {"add_generation_prompt", true}};
  const jinja::RenderLimits limits = {/*steps=*/20'000, /*bytes=*/1 << 20};
  Expected<jinja::Template> made =
      jinja::Template::parse({reinterpret_cast<const char*>(data), size});
  if (!made) {
    require(!made.message().empty(), "a refusal has a reason");
    return 0;
  }
  Expected<std::string> text = made->render(variables, 0, limits);
  Expected<std::string> again = made->render(variables, 0, limits);
  require(bool(text) == bool(again), "rendering is deterministic");
  if (text)
    require(*text == *again, "rendering is deterministic");
  else
    require(!text.message().empty(), "a refusal has a reason");
  return 0;
}
