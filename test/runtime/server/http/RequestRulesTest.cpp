// Requests that another program may read differently.

#include "runtime/server/http/RequestRules.h"

#include <gtest/gtest.h>

using namespace reciperun::server;

namespace {

constexpr int http10 = 0, http11 = 1;
const std::pair<std::string, std::string> host = {"Host", "a"};

} // namespace

TEST(RequestRules, TakeUsualRequests) {
  for (const HttpHeaders& headers : std::vector<HttpHeaders>{
           {host},
           {{"host", "example.com:8000"}},
           {{"HOST", "[::1]:8000"}},
           {{"Host", ""}},
           {host, {"Content-Length", "0"}},
           {host, {"content-length", "123"}, {"A", "\xc3\xa9\t b"}},
           {host, {"Transfer-Encoding", "Chunked"}}})
    EXPECT_EQ(faultOf(headers, http11), "") << headers.back().first;
  EXPECT_EQ(faultOf({}, http10), "");
}

TEST(RequestRules, RefuseWhatIsAmbiguous) {
  for (const HttpHeaders& headers : std::vector<HttpHeaders>{
           {},
           {host, host},
           {{"Host", "a/b"}},
           {{"Host", "a b"}},
           {{"Host", "a\xff"}},
           {host, {"Content-Length ", "4"}},
           {host, {"", "4"}},
           {host, {"A", "b\rContent-Length: 4"}},
           {host, {"A", "\x7f"}},
           {host, {"Content-Length", ""}},
           {host, {"Content-Length", "4, 4"}},
           {host, {"Content-Length", "+4"}},
           {host, {"Content-Length", "0x4"}},
           {host, {"Content-Length", std::string(30, '0')}},
           {host, {"Content-Length", "4"}, {"content-length", "4"}},
           {host, {"Content-Length", "4"}, {"Transfer-Encoding", "chunked"}},
           {host, {"Transfer-Encoding", ""}},
           {host, {"Transfer-Encoding", "gzip, chunked"}},
           {host,
            {"Transfer-Encoding", "chunked"},
            {"Transfer-Encoding", "chunked"}}})
    EXPECT_NE(faultOf(headers, http11), "")
        << (headers.empty()
                ? ""
                : headers.back().first + ": " + headers.back().second);
  EXPECT_NE(faultOf({{"Transfer-Encoding", "chunked"}}, http10), "");
}

TEST(RequestRules, KnowWhichBodiesAreNotRead) {
  EXPECT_TRUE(hasUnreadBody("HEAD", {{"content-length", "4"}}));
  EXPECT_TRUE(hasUnreadBody("HEAD", {{"Transfer-Encoding", "chunked"}}));
  EXPECT_FALSE(hasUnreadBody("HEAD", {host}));
  EXPECT_FALSE(hasUnreadBody("POST", {{"Content-Length", "4"}}));
}
