import { expect, test } from "vitest"

import { talk } from "../fixtures/agent/histories.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"
import { chainOf, isAuxiliaryRequest, seedSession } from "./killed-session.ts"

const WINDOW = 32_000
const ROUNDS = 40
const PART = "a line of a file that is long enough to count\n".repeat(150)

test("two processes that work on one conversation at the same time compress it in turns and lose nothing", async () => {
  const rounds = new Map<string, number>()
  const sizes: number[] = []
  await using model = await startModelServer([
    repeat((request: RecordedRequest) => {
      const tokens = Math.ceil(request.rawBody.length / 4)
      const usage = { input: tokens, output: 50 }
      if (isAuxiliaryRequest(request)) return { ...says("## Active Task\nGo on."), usage }
      sizes.push(tokens)
      const name = modelOf(request)
      const round = (rounds.get(name) ?? 0) + 1
      rounds.set(name, round)
      if (round > ROUNDS) return { ...says(`All parts are read by ${name}.`), usage }
      return { ...callsTool("read_file", { path: `part-${name}-${round}.txt` }), usage }
    }),
  ])
  const names = ["test-model", "other-model"]
  await using home = await temporaryHome({
    config: settingsFor(model, `  context_length: ${WINDOW}\nmemory:\n  nudge_interval: 0\n`),
    workFiles: Object.fromEntries(
      names.flatMap((name) => Array.from({ length: ROUNDS }, (_, round) => [`part-${name}-${round + 1}.txt`, PART])),
    ),
  })
  const id = await seedSession(home, talk(10, 400))
  const runs = await Promise.all(
    names.map((name) => hermes(home, ["-z", `Read all parts of ${name}.`, "--resume", id, "-m", name])),
  )
  expect(runs.map(({ code, stdout, stderr }) => [code, stdout.trim(), stderr.includes("rror")])).toEqual(
    names.map((name) => [0, `All parts are read by ${name}.`, false]),
  )
  expect(sizes.filter((tokens) => tokens > WINDOW)).toEqual([])
  const chain = await chainOf(home, id)
  expect(chain.length).toBeGreaterThan(2)
  const stored = chain.flatMap(({ messages }) => messages)
  const texts = stored.map(({ content }) => JSON.stringify(content))
  for (const name of names) {
    const results = new Set(
      stored.flatMap((message) => {
        if (message.role !== "assistant") return []
        return (message.tool_calls ?? [])
          .filter((call) => call.function.arguments.includes(`part-${name}-`))
          .map((call) => call.id)
      }),
    )
    const answered = new Set(stored.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : [])))
    expect([name, results.size, [...results].filter((call) => !answered.has(call))]).toEqual([name, ROUNDS, []])
    expect(texts.some((text) => text.includes(`All parts are read by ${name}.`))).toBe(true)
  }
  // No result of the other process was declared lost.
  expect(texts.filter((text) => text.includes("The outcome of this call is unknown"))).toEqual([])
}, 120_000)

function modelOf({ body }: RecordedRequest): string {
  return typeof body === "object" && body !== null && "model" in body ? String(body.model) : ""
}
