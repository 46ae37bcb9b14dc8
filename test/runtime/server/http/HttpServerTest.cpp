// The HTTP server in this process: a failing handler, posted work that throws,
// and what the end of an answer tells.

#include "runtime/server/http/HttpServer.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <new>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace reciperun;
using namespace reciperun::server;

namespace {

using Reply = std::shared_ptr<HttpReply>;

/// A server on a thread of its own.
class Serving {
public:
  explicit Serving(HttpServer::Handler handler)
      : loop(*EventLoop::open()),
        server(*HttpServer::listen(*loop, {.port = 0}, {}, std::move(handler))),
        thread([this] { loop->run(); }) {}
  ~Serving() {
    loop->stop();
    thread.join();
  }

  /// All that comes back for a request until the server closes.
  std::string get(const std::string& path) const {
    const int each = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(server->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(each, reinterpret_cast<sockaddr*>(&address), sizeof address);
    const std::string text = "GET " + path +
                             " HTTP/1.1\r\nHost: a\r\nA: 1\r\nA: 2\r\n"
                             "Connection: close\r\n\r\n";
    send(each, text.data(), text.size(), 0);
    std::string got;
    char piece[4096];
    for (ssize_t size = 0; (size = recv(each, piece, sizeof piece, 0)) > 0;)
      got.append(piece, size_t(size));
    close(each);
    return got;
  }

  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<HttpServer> server;
  std::thread thread;
};

bool has(const std::string& text, const char* part) {
  return text.find(part) != text.npos;
}

} // namespace

TEST(HttpServer, AnswersWhatItsHandlerSends) {
  const Serving serving([](const HttpRequest& request, const Reply& reply) {
    EXPECT_EQ(request.client, "127.0.0.1");
    EXPECT_EQ(request.header("a"), "1, 2");
    reply->send(200, "text/plain", request.path);
  });
  EXPECT_TRUE(has(serving.get("/a%20b?key=value"), "\r\n\r\n/a b"));
}

TEST(HttpServer, AFailingHandlerCostsItsRequestAlone) {
  const Serving serving([](const HttpRequest& request, const Reply& reply) {
    if (request.path == "/short")
      throw std::bad_alloc();
    if (request.path == "/dropped")
      return;
    reply->send(200, "text/plain", "");
  });
  EXPECT_TRUE(has(serving.get("/short"), "HTTP/1.1 500 "));
  EXPECT_TRUE(has(serving.get("/dropped"), "HTTP/1.1 500 "));
  EXPECT_TRUE(has(serving.get("/"), "HTTP/1.1 200 "));
}

TEST(HttpServer, PostedWorkMayThrow) {
  const Serving serving([](const HttpRequest&, const Reply& reply) {
    reply->send(200, "text/plain", "");
  });
  serving.loop->post([] { throw std::bad_alloc(); });
  bool hasRun = false;
  serving.loop->post([&] { hasRun = true; });
  EXPECT_TRUE(has(serving.get("/"), "HTTP/1.1 200 "));
  EXPECT_TRUE(hasRun);
}

TEST(HttpServer, TellsTheEndOfAnAnswerInReverse) {
  std::string order;
  size_t bytes = 0;
  const Serving serving([&](const HttpRequest&, const Reply& reply) {
    reply->whenEnded([&, answered = reply.get()](bool isComplete) {
      order += isComplete ? "first" : "lost";
      bytes = answered->bodyBytes();
      EXPECT_NE(answered->firstByte(), HttpReply::Clock::time_point());
    });
    reply->whenEnded([&](bool) { order += "last "; });
    reply->beginStream("text/plain");
    reply->write("abc");
    reply->write("de");
    reply->endStream();
  });
  EXPECT_TRUE(has(serving.get("/"), "abc"));
  EXPECT_EQ(order, "last first");
  EXPECT_EQ(bytes, 5u);
}
