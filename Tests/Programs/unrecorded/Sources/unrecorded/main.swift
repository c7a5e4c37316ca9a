// Prints how many calls did what they do where nothing is recorded.
print(await callEverything())
