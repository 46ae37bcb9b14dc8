// silu * up becomes one op if nothing else reads the silu.

#include "compiler/passes/fuse/Fuse.h"
#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/ir/Verify.h"

#include <gtest/gtest.h>

namespace recipec::passes {
namespace {

std::string fused(const std::string& body) {
  std::string error;
  std::optional<ir::Module> module =
      ir::parse("graph g f32\ndim n = 4\ninput %gate : f32[n]\n"
                "input %up : f32[n]\nfunction forward {\n" +
                    body + "}\n",
                error);
  EXPECT_TRUE(module) << error;
  fuse(*module);
  EXPECT_EQ(ir::verify(*module), std::vector<std::string>());
  std::string text = ir::print(*module);
  size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind("}") - begin);
}

TEST(Fuse, SiluAndMulOfEitherOrder) {
  EXPECT_EQ(fused("  %s = silu %gate : f32[n]\n"
                  "  %layer.mul = mul %s, %up : f32[n]\n"),
            "  %layer.swiglu = swiglu %gate, %up : f32[n]\n");
  EXPECT_EQ(fused("  %s = silu %gate : f32[n]\n"
                  "  %named = mul %up, %s : f32[n]\n"),
            "  %named = swiglu %gate, %up : f32[n]\n");
}

TEST(Fuse, ASiluWithAnotherReaderStays) {
  std::string body = "  %s = silu %gate : f32[n]\n"
                     "  %m = mul %s, %up : f32[n]\n"
                     "  %t = add %s, %m : f32[n]\n";
  EXPECT_EQ(fused(body), body);
}

TEST(Fuse, ASiluTimesItselfStays) {
  std::string body = "  %s = silu %gate : f32[n]\n"
                     "  %m = mul %s, %s : f32[n]\n";
  EXPECT_EQ(fused(body), body);
}

} // namespace
} // namespace recipec::passes
