// Runs LifespanTesting's start before main, and so before the first test. Nothing here is called by anyone.
#ifndef LIFESPAN_TESTING_H
#define LIFESPAN_TESTING_H

// Sources/LifespanTesting/Session.swift. One thread; may allocate.
void lifespan_testing_loaded(void);

#endif
