import { readFile, readdir, stat } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, refuses, repeat, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const quiet = { stdin: "inherit-null" } as const

async function trajectories(path: string): Promise<readonly { conversations: { from: string; value: string }[] }[]> {
  return (await readFile(path, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
}

const shown = (record: { conversations: { from: string; value: string }[] } | undefined) =>
  record?.conversations.slice(1).map(({ from, value }) => [from, value.slice(0, 40)])

test("--save-trajectories saves each run, and only then", async () => {
  const calls = callsTool("terminal", { command: "echo hi" })
  await using model = await startModelServer([says("No."), calls, says("It said hi."), says("You are welcome.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const directory = join(home.path, "trajectories")
  await hermes(home, ["-z", "not this one"], quiet)
  await expect(readdir(directory)).rejects.toThrow()
  const prompt = ["--system-prompt-append", "secret instructions"]
  expect((await hermes(home, ["chat", "--save-trajectories", ...prompt, "-q", "say hi"], quiet)).code).toBe(0)
  expect((await hermes(home, ["--save-trajectories", "-c", "-z", "thanks"], quiet)).code).toBe(0)
  const path = join(directory, "trajectory_samples.jsonl")
  const [first, second, ...more] = await trajectories(path)
  expect(first).toMatchObject({ model: "test-model", completed: true, timestamp: expect.stringMatching(/^\d{4}-/) })
  const turns = [
    ["human", "say hi"],
    ["gpt", '<think>\n</think>\n<tool_call>\n{"name": "t'],
    ["tool", expect.stringMatching(/^<tool_response>/)],
    ["gpt", "<think>\n</think>\nIt said hi."],
  ]
  expect(shown(first)).toEqual(turns)
  expect(shown(second)).toEqual([...turns, ["human", "thanks"], ["gpt", "<think>\n</think>\nYou are welcome."]])
  expect(more).toEqual([])
  expect(await readFile(path, "utf8")).not.toContain("secret instructions")
  expect([(await stat(path)).mode & 0o777, (await stat(directory)).mode & 0o777]).toEqual([0o600, 0o700])
})

test("the setting saves every run, failed ones apart, in the directory of the settings", async () => {
  await using model = await startModelServer([says("Hello."), repeat(refuses(401, "bad key"))])
  const settings = "agent:\n  save_trajectories: true\n  trajectory_directory: out\n"
  await using home = await temporaryHome({ config: settingsFor(model, settings) })
  await hermes(home, ["-z", "hi"], quiet)
  await hermes(home, ["-z", "hi again"], quiet)
  expect((await readdir(join(home.workdir, "out"))).toSorted()).toEqual([
    "failed_trajectories.jsonl",
    "trajectory_samples.jsonl",
  ])
  const [failed] = await trajectories(join(home.workdir, "out", "failed_trajectories.jsonl"))
  expect([failed, shown(failed)]).toEqual([expect.objectContaining({ completed: false }), [["human", "hi again"]]])
})

test("stored sessions are exported as training data", async () => {
  const calls = callsTool("terminal", { command: "echo hi" })
  await using model = await startModelServer([calls, says("It said hi."), says("Hello.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await hermes(home, ["-z", "say hi"], quiet)
  await hermes(home, ["-z", "hello"], quiet)
  const written = await hermes(home, ["sessions", "export", "t.jsonl", "--format", "trajectory"], quiet)
  expect([written.code, written.stdout]).toEqual([0, "Exported 2 sessions to t.jsonl.\n"])
  const records = await trajectories(join(home.workdir, "t.jsonl"))
  expect(records.map((record) => shown(record)?.map(([from]) => from))).toContainEqual(["human", "gpt", "tool", "gpt"])
  expect(records[0]?.conversations[0]?.value).toContain('"name": "terminal"')
  const printed = await hermes(home, ["sessions", "export", "-", "--format", "trajectory"], quiet)
  expect(printed.stdout).toBe(await readFile(join(home.workdir, "t.jsonl"), "utf8"))
})
