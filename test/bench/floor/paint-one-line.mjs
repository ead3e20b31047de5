// The floor of the first paint: a bare program that writes one line to the terminal and waits for a key.
process.stdout.write("ready ❯\n")
process.stdin.setRawMode?.(true)
process.stdin.on("data", () => process.exit(0))
