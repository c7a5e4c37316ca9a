// A static executable: nothing can be loaded into it. Built by FakeRecorder.swift.
#include <stdio.h>

int main(void) { return puts("ran") < 0; }
