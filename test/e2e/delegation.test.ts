import { expect, test } from "vitest"

import { delegatingModel } from "../integration/delegation/delegating-model.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor, streamLines } from "./hermes-process.ts"

const TURNS = {
  "": [callsTool("delegate_task", { tasks: [{ goal: "Read it" }, { goal: "Say hello" }] }), says("Both are done.")],
  "Read it": [callsTool("read_file", { path: "notes.txt" }), says("The notes say tea.")],
  "Say hello": [says("Hello.")],
}

test("hermes chat -q shows sub-agents as a tree, and stream-json as events", async () => {
  await using model = await startModelServer(delegatingModel(TURNS).script)
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "notes.txt": "tea\n" } })
  const shown = await hermes(home, ["chat", "-q", "go"])
  expect(shown.stdout.trim()).toBe("Both are done.")
  expect(shown.stderr).toContain("┌ [1/2] Read it")
  expect(shown.stderr).toContain("│ [1/2] → read_file notes.txt")
  expect(shown.stderr).toContain("└ [1/2] ✓ The notes say tea.")

  await using again = await startModelServer(delegatingModel(TURNS).script)
  await using other = await temporaryHome({ config: settingsFor(again), workFiles: { "notes.txt": "tea\n" } })
  const { stdout } = await hermes(other, ["-z", "go", "--output-format", "stream-json"])
  const lines = streamLines(stdout)
  expect(lines.filter(({ type }) => type === "subagent.start")).toMatchObject([
    { goal: "Read it", parent_id: null, role: "leaf", depth: 1, task_count: 2 },
    { goal: "Say hello" },
  ])
  expect(lines.filter(({ type }) => type === "subagent.complete").map((line) => line["status"])).toEqual([
    "completed",
    "completed",
  ])
  expect(lines.at(-1)).toMatchObject({ type: "result", status: "completed", final_text: "Both are done." })
})
