import { expect, test } from "vitest"

import { runHelperProgram } from "./helper-program.ts"

const inherited = { PATH: "/usr/bin:/bin", OKTA_PROFILE: "lab", OPENAI_API_KEY: "sk-planted", AWS_REGION: "eu-west-1" }
const run = (words: readonly string[], signal = new AbortController().signal) =>
  runHelperProgram(words, { inherited, signal })

test("returns stdout; the program sees the user's variables but no provider API key", async () => {
  const shown = await run([
    "/bin/sh",
    "-c",
    'echo "$OKTA_PROFILE-$AWS_REGION-$OPENAI_API_KEY-$1"; echo noise >&2',
    "sh",
    "a b",
  ])
  expect(shown).toEqual({ ok: true, value: "lab-eu-west-1--a b\n" })
})

test.each([
  [["/bin/sh", "-c", "echo 'no   ticket' >&2; exit 3"], "exited with code 3 (no ticket)"],
  [["/bin/sh", "-c", "exit 1"], "exited with code 1"],
  [["/no/such/program"], "cannot be started: no such file or directory"],
])("%j fails with the reason", async (words, error) => {
  expect(await run(words)).toEqual({ ok: false, error })
})

test("an abort rejects and ends the program", async () => {
  const stop = new AbortController()
  const running = run(["/bin/sh", "-c", "sleep 600"], stop.signal)
  stop.abort()
  await expect(running).rejects.toMatchObject({ name: "AbortError" })
})
