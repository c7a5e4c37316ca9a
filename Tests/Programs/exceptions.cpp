// C++ exceptions below `record`: a preload library that brings another unwinder would change who unwinds them.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int thrown(int depth) {
  std::string text(static_cast<size_t>(depth) + 20, 'x');
  if (depth == 0) throw std::runtime_error(text);
  return thrown(depth - 1) + static_cast<int>(text.size());
}

int main() {
  int caught[2] = {0, 0};
  std::vector<std::thread> threads;
  for (int &count : caught) {
    threads.emplace_back([&count] {
      for (int i = 0; i < 200; i++) {
        try {
          thrown(i % 40);
        } catch (const std::exception &error) {
          count += error.what()[0] == 'x';
        }
      }
    });
  }
  for (auto &thread : threads) thread.join();
  std::printf("caught %d\n", caught[0] + caught[1]);
}
