// Exceptions through frames with destructors, allocating in the middle of unwinding.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct Guard {
  std::string text = "a text that is too long for the short string buffer";
  ~Guard() { std::vector<int> numbers(10); text += std::to_string(numbers.size()); }
};

[[gnu::noinline]] static int fall(int depth) {
  Guard guard;
  if (depth == 0) throw std::runtime_error("bottom " + guard.text);
  return fall(depth - 1) + 1;
}

int main() {
  int caught = 0;
  for (int i = 0; i < 50; i++) {
    try { fall(i % 10); } catch (const std::exception &error) { caught += std::string(error.what()).size() > 0; }
  }
  return caught == 50 ? 0 : 1;
}
