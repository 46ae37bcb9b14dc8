// The Jinja text of chat templates. exports_chat.test renders one with Jinja.

#include "runtime/checkpoint/ChatTemplate.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

TEST(ChatTemplate, writesTextsAsLiterals) {
  EXPECT_EQ(
      jinjaTemplate({"<|im_start|>{role}\n", "<|im_end|>\n"}, "<s>", "</s>"),
      "{{ '<s>' }}{% for message in messages %}{{ '<|im_start|>' + "
      "message['role'] + '\\n' }}{{ message['content'] }}{{ "
      "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ "
      "'<|im_start|>' + 'assistant' + '\\n' }}{% else %}{{ '</s>' }}"
      "{% endif %}");
}

TEST(ChatTemplate, escapesWhatEndsALiteral) {
  EXPECT_EQ(jinjaTemplate({"it's {{ \\ }}\t", ""}, "", ""),
            "{% for message in messages %}{{ 'it\\'s {{ \\\\ }}\\x09' }}{{ "
            "message['content'] }}{% endfor %}{% if add_generation_prompt %}"
            "{{ 'it\\'s {{ \\\\ }}\\x09' }}{% else %}{% endif %}");
}

TEST(ChatTemplate, putsTheRoleWhereItStands) {
  EXPECT_EQ(jinjaTemplate({"{role}{role}", "/{role}"}, "", ""),
            "{% for message in messages %}{{ message['role'] + "
            "message['role'] }}{{ message['content'] }}{{ '/' + "
            "message['role'] }}{% endfor %}{% if add_generation_prompt %}{{ "
            "'assistant' + 'assistant' }}{% else %}{% endif %}");
}

} // namespace
} // namespace reciperun::checkpoint
