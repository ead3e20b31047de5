import { createInterface } from "node:readline"
import { Writable } from "node:stream"

/** Asks on stderr, so that a redirected stdout gets no prompts. Returns undefined at EOF and when the signal aborts. */
export function askLine(
  question: string,
  options: { readonly secret: boolean; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { secret, signal } = options
  return new Promise((resolve) => {
    const echo = secret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr
    process.stdin.ref()
    const prompt = createInterface({ input: process.stdin, output: echo, terminal: true, historySize: 0 })
    let answer: string | undefined
    const stop = (): void => prompt.close()
    signal.addEventListener("abort", stop, { once: true })
    // In raw mode Ctrl+C arrives as a character instead of a signal. Raising SIGINT aborts `signal`, which closes the prompt.
    prompt.on("SIGINT", () => process.kill(process.pid, "SIGINT"))
    prompt.on("close", () => {
      signal.removeEventListener("abort", stop)
      if (secret || answer === undefined) process.stderr.write("\n")
      process.stdin.unref()
      resolve(answer)
    })
    if (secret) process.stderr.write(question)
    prompt.question(secret ? "" : question, (line) => {
      answer = line
      prompt.close()
    })
  })
}
